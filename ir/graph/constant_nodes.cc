// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/constant_nodes.h"

#include <algorithm>

#include "base/check.h"
#include "ir/graph/operator.h"

namespace egret::ir {

std::vector<bool> constant_nodes(const Graph& graph,
                                 const std::function<bool(const Node&)>& admits) {
  std::vector<bool> constant;
  constant.reserve(graph.size());
  extend_constant_nodes(graph, constant, admits);
  return constant;
}

// Inputs come before their users, so one pass over the new nodes suffices.
void extend_constant_nodes(const Graph& graph, std::vector<bool>& constant,
                           const std::function<bool(const Node&)>& admits) {
  const auto is_constant = [&](NodeId id) -> bool { return constant[id.index()]; };
  while (constant.size() < graph.size()) {
    const Node& node = graph.node(NodeId(constant.size()));
    constant.push_back(node.kind == NodeKind::kConstant ||
                       (node.kind == NodeKind::kOperator && !node.op->is_opaque() &&
                        std::ranges::all_of(node.inputs, is_constant) &&
                        (!admits || admits(node))));
  }
}

Graph with_constants(const Graph& graph, const std::map<NodeId, Tensor>& values) {
  Graph result;
  result.copy_header(graph);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(NodeId(i));
    const auto value = values.find(NodeId(i));
    if (value == values.end()) {
      result.append(node);
      continue;
    }
    EGRET_CHECK(node.kind == NodeKind::kOperator && value->second.type() == node.type,
                "a constant must have the type of the operator that it replaces");
    result.append(
        {.kind = NodeKind::kConstant, .type = node.type, .data = value->second, .name = node.name});
  }
  for (const Graph::Output& output : graph.outputs()) result.add_output(output.name, output.node);
  return result;
}

}  // namespace egret::ir
