// SPDX-License-Identifier: Apache-2.0
#include "driver/prices/graph_queries.h"

#include <algorithm>

namespace egret::driver {

GraphQueries::GraphQueries(const ir::Graph& graph, const std::vector<bool>& weights) {
  std::vector<char> constant(graph.size(), 0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    constant[graph.inputs()[i].index()] = weights[i] ? 1 : 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const ir::Node& node = graph.node(ir::NodeId(i));
    if (node.kind == ir::NodeKind::kConstant) constant[i] = 1;
    if (node.kind != ir::NodeKind::kOperator || node.op->is_opaque()) continue;
    Storage& own = storage_.emplace_back();
    own.constant = std::make_unique<bool[]>(node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      own.types.push_back(graph.node(node.inputs[k]).type);
      own.constant[k] = constant[node.inputs[k].index()] != 0;
    }
    const cost::Query query{.op = node.op,
                            .attrs = &node.attrs,
                            .inputs = own.types,
                            .constant = {own.constant.get(), node.inputs.size()},
                            .output = &node.type};
    constant[i] = node.inputs.empty() || query.all_constant() ? 1 : 0;
    const bool known =
        node.type.is_concrete() && std::ranges::all_of(own.types, &ir::TensorType::is_concrete);
    if (constant[i] != 0 || !known) continue;
    queries_.push_back(query);
    nodes_.emplace_back(i);
  }
}

}  // namespace egret::driver
