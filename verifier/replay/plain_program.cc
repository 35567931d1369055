// SPDX-License-Identifier: Apache-2.0
#include "verifier/replay/plain_program.h"

#include <functional>
#include <utility>

#include "ir/ops/opaque.h"

namespace egret::verifier {

ir::Graph plain_program(const ir::Graph& graph) {
  if (!ir::has_opaque(graph)) return ir::without_dead_nodes(graph);
  const auto is_sealed = [](const auto& named) { return named.second.sealed; };
  ir::Graph open = graph;
  std::erase_if(open.bodies, is_sealed);
  ir::Graph plain = ir::without_dead_nodes(ir::expand_bodies(open));
  plain.bodies = graph.bodies;
  std::erase_if(plain.bodies, std::not_fn(is_sealed));
  return plain;
}

}  // namespace egret::verifier
