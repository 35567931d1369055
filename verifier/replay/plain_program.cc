// SPDX-License-Identifier: Apache-2.0
#include "verifier/replay/plain_program.h"

#include "ir/ops/opaque.h"

namespace egret::verifier {

base::Result<ir::Graph> plain_program(const ir::Graph& graph) {
  for (const ir::NodeId id : ir::live_nodes(graph)) {
    const ir::Node& node = graph.node(id);
    if (node.op != &ir::opaque_operator()) continue;
    const std::string& key = node.attrs.text("node");
    const std::string name = "node '" + key + "' (" + node.attrs.text("type") + ") ";
    const auto body = graph.bodies.find(key);
    if (body == graph.bodies.end())
      return base::unsupported(name + "has no definition, so nothing can be proven about it");
    if (body->second.sealed)
      return base::unsupported(name + "is not what its operators compute in real arithmetic");
  }
  return ir::without_dead_nodes(ir::has_opaque(graph) ? ir::expand_bodies(graph) : graph);
}

}  // namespace egret::verifier
