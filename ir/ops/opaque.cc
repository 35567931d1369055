// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/opaque.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace egret::ir {
namespace {

void define(Definition& d) {
  const auto dtype = parse_dtype(d.text("dtype"));
  if (!dtype) {
    d.fail("there is no element type '" + d.text("dtype") + "'");
    return;
  }
  const std::vector<Index> sizes = d.sizes("shape");
  d.output(*dtype, Dims(sizes.begin(), sizes.end()));
  d.value(0);  // never read: denote() refuses opaque operators
}

Operator make_opaque() {
  return Operator(OperatorKind::kOpaque, "opaque", "One output of a node without a definition",
                  {"operands"})
      .variadic(0)
      .attr("node", AttrKind::kText, "the node, by a key")
      .attr("type", AttrKind::kText, "the node's operator")
      .attr("output", AttrKind::kInteger, "which of its outputs")
      .attr("dtype", AttrKind::kText, "the element type")
      .attr("shape", AttrKind::kIntegers, "the sizes")
      .defined_by(define);
}

bool is_opaque(const Node& node) {
  return node.kind == NodeKind::kOperator && node.op->is_opaque();
}

}  // namespace

const Operator& opaque_operator() {
  static const Operator* const made = new Operator(make_opaque());  // immortal, as all are
  return *made;
}

Attrs opaque_attrs(const OpaqueOutput& output) {
  return {{"node", output.node},
          {"type", output.type},
          {"output", output.output},
          {"dtype", std::string(to_string(output.dtype))},
          {"shape", output.shape}};
}

bool has_opaque(const Graph& graph) { return std::ranges::any_of(graph.nodes(), is_opaque); }

Graph cut_at_opaque(const Graph& graph) {
  if (!has_opaque(graph)) return graph;
  Graph result;
  result.name = graph.name;
  result.metadata = graph.metadata;
  // By name, so that the order depends on the opaque nodes alone.
  std::map<std::pair<std::string, std::int64_t>, NodeId> results;
  std::map<std::string, NodeId> operands;
  const std::vector<NodeId> live = live_nodes(graph);
  for (const NodeId id : live) {
    const Node& node = graph.node(id);
    if (!is_opaque(node)) continue;
    const std::string& key = node.attrs.text("node");
    results.emplace(std::pair(key, node.attrs.integer("output")), id);
    // Also operands that are inputs or constants: they may be computed in an equal graph.
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      operands.emplace(key + "(" + std::to_string(i) + ")", node.inputs[i]);
  }
  std::vector<NodeId> moved(graph.size());
  for (const NodeId id : graph.inputs()) moved[id.index()] = result.append(graph.node(id));
  for (const auto& [name, id] : results) {
    moved[id.index()] = result.append({.kind = NodeKind::kInput,
                                       .type = graph.node(id).type,
                                       .name = name.first + "#" + std::to_string(name.second)});
  }
  for (const NodeId id : live) {
    if (moved[id.index()].valid()) continue;
    Node node = graph.node(id);
    for (NodeId& input : node.inputs) input = moved[input.index()];
    moved[id.index()] = result.append(std::move(node));
  }
  for (const Graph::Output& output : graph.outputs())
    result.add_output(output.name, moved[output.node.index()]);
  for (const auto& [name, id] : operands) result.add_output(name, moved[id.index()]);
  return without_dead_nodes(result);
}

}  // namespace egret::ir
