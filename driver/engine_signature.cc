// SPDX-License-Identifier: Apache-2.0
#include "driver/engine_signature.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/evaluate/input_draws.h"
#include "ir/graph/open_sizes.h"
#include "rules/tensors/open_sizes.h"

namespace egret::driver {
namespace {

// Those sizes that inputs have; others depend on data.
ir::SymbolValues of_inputs(const ir::Graph& graph, const ir::SymbolValues& sizes) {
  ir::SymbolValues found;
  for (const std::string& name : ir::open_sizes(graph)) {
    if (const auto size = sizes.find(name); size != sizes.end()) found.insert(*size);
  }
  return found;
}

}  // namespace

EngineSignature engine_signature(const ir::Graph& program, const frontends::OnnxModelInfo* info,
                                 std::span<const ir::Draw> draws, const ir::SymbolValues& sizes,
                                 bool with_outputs) {
  const ir::SymbolValues known = of_inputs(program, sizes);
  const auto is_tensor_of_known_size = [&](ir::NodeId id, const std::string& name) {
    return (info == nullptr || !info->untyped_values.contains(name)) &&
           std::ranges::all_of(ir::symbols_of(program.node(id).type.dims),
                               [&](const std::string& symbol) { return known.contains(symbol); });
  };
  EngineSignature signature;
  signature.takes_inputs = (info == nullptr || info->foreign_inputs.empty()) &&
                           std::ranges::all_of(program.inputs(), [&](ir::NodeId id) {
                             return is_tensor_of_known_size(id, program.node(id).name);
                           });
  if (!signature.takes_inputs) return signature;
  std::map<std::string, ir::Draw> by_name;
  for (std::size_t i = 0; i < program.inputs().size(); ++i) {
    const ir::Node& input = program.node(program.inputs()[i]);
    signature.graph.append({.kind = ir::NodeKind::kInput,
                            .type = rules::at_sizes(input.type, known),
                            .name = input.name});
    by_name[input.name] = draws[i];
  }
  ir::add_draws(signature.graph, by_name);
  if (!with_outputs) return signature;
  for (const ir::Graph::Output& output : program.outputs()) {
    if (!is_tensor_of_known_size(output.node, output.name)) {
      signature.unknown_outputs.push_back(output.name);
      continue;
    }
    ir::Node value{.kind = ir::NodeKind::kConstant,
                   .type = rules::at_sizes(program.node(output.node).type, known)};
    signature.graph.add_output(output.name, signature.graph.append(std::move(value)));
  }
  return signature;
}

}  // namespace egret::driver
