// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/shared_nodes.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/core/tensor_contents.h"

namespace egret::ir {

// Common subexpression elimination by value numbering: inputs are replaced first, so equal nodes
// have equal keys. Named constants stay apart, because their names identify weights.
Graph with_shared_nodes(const Graph& graph) {
  using OperatorKey = std::tuple<std::string, std::string, std::vector<std::uint32_t>>;
  std::map<OperatorKey, NodeId> operators;
  std::map<std::string, std::vector<NodeId>> constants;  // by hash, which forged ones share
  std::vector<NodeId> moved(graph.size());
  Graph shared;
  shared.copy_header(graph);
  for (const NodeId id : live_nodes(graph)) {
    Node node = graph.node(id);
    for (NodeId& input : node.inputs) input = moved[input.index()];
    NodeId* known = nullptr;
    if (node.kind == NodeKind::kOperator) {
      std::vector<std::uint32_t> inputs;
      for (const NodeId input : node.inputs) inputs.push_back(input.index());
      known = &operators[{node.op->name(), to_string(node.attrs), std::move(inputs)}];
    } else if (node.kind == NodeKind::kConstant && node.name.empty()) {
      auto& alike = constants[node.data.content_hash().to_hex()];
      const auto same = std::ranges::find_if(
          alike, [&](NodeId one) { return same_contents(shared.node(one).data, node.data); });
      known = same != alike.end() ? &*same : &alike.emplace_back();
    }
    if (known == nullptr) {
      moved[id.index()] = shared.append(std::move(node));
      continue;
    }
    if (!known->valid()) *known = shared.append(std::move(node));
    moved[id.index()] = *known;
  }
  for (const auto& out : graph.outputs()) shared.add_output(out.name, moved[out.node.index()]);
  return shared;
}

}  // namespace egret::ir
