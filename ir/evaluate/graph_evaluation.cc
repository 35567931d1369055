// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/graph_evaluation.h"

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

}  // namespace egret::ir
