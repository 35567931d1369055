// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/graph_evaluation.h"

#include "base/formats/units.h"
#include "base/system/peak_memory.h"

namespace egret::ir {

base::Status check_input_types(const Graph& graph, std::span<const TensorType> given, bool wide) {
  if (given.size() != graph.inputs().size()) {
    return base::bad_input("the graph takes " + std::to_string(graph.inputs().size()) +
                           " inputs, not " + std::to_string(given.size()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Node& node = graph.node(graph.inputs()[i]);
    bool fits = given[i].rank() == node.type.rank() &&
                (given[i].dtype == node.type.dtype ||
                 (wide && given[i].dtype == DType::kF64 && is_float(node.type.dtype)));
    for (std::size_t axis = 0; fits && axis < node.type.dims.size(); ++axis) {
      const Index& declared = node.type.dims[axis];
      fits = !declared.is_constant() || declared.same(given[i].dims[axis]);
    }
    if (!fits) {
      return base::bad_input("input '" + node.name + "' is declared " + to_string(node.type) +
                             ", not " + to_string(given[i]));
    }
  }
  return base::ok();
}

// Adds up the values that are alive at the same time, as 64-bit numbers in the interpreter's order.
// A refusal before the run is better than an end by the system's memory killer.
base::Status check_memory(const Graph& graph) {
  constexpr double kUsable = 0.75;  // of the machine's memory
  const double machine = static_cast<double>(base::machine_memory_bytes());
  const auto bytes_of = [&](NodeId id) {
    const Node& node = graph.node(id);
    const bool counts = node.kind != NodeKind::kConstant && node.type.is_concrete();
    return counts ? 8.0 * static_cast<double>(node.type.elements()) : 0.0;
  };
  std::vector<int> uses = use_counts(graph);
  double alive = 0;
  for (const NodeId id : live_nodes(graph)) {
    const Node& node = graph.node(id);
    alive += bytes_of(id);
    if (machine > 0 && alive > kUsable * machine) {
      const std::string name = node.name.empty() ? node.op->name() : "'" + node.name + "'";
      return base::limit_hit("the interpreter needs " + base::format_bytes(alive) +
                             " of memory at " + name + " " + to_string(node.type));
    }
    for (const NodeId input : node.inputs) {
      if (--uses[input.index()] == 0) alive -= bytes_of(input);
    }
  }
  return base::ok();
}

}  // namespace egret::ir
