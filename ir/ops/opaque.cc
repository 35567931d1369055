// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/opaque.h"

#include <algorithm>
#include <map>
#include <string>
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

bool has_undefined(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return is_opaque(node) && body_of(graph, node) == nullptr;
  });
}

const Graph* body_of(const Graph& graph, const Node& node) {
  if (!is_opaque(node)) return nullptr;
  const auto found = graph.bodies.find(node.attrs.text("node"));
  return found != graph.bodies.end() ? found->second.get() : nullptr;
}

namespace {

// Appends the body and gives its outputs, by their names.
std::map<std::string, NodeId> append_body(Graph& graph, const Graph& body,
                                          const std::vector<NodeId>& operands) {
  EGRET_CHECK(body.inputs().size() == operands.size(), "an operand for each input of the body");
  std::vector<NodeId> moved(body.size());
  for (std::size_t i = 0; i < operands.size(); ++i) moved[body.inputs()[i].index()] = operands[i];
  for (const NodeId id : live_nodes(body)) {
    if (body.node(id).kind == NodeKind::kInput) continue;
    Node node = body.node(id);
    for (NodeId& input : node.inputs) input = moved[input.index()];
    moved[id.index()] = graph.append(std::move(node));
  }
  std::map<std::string, NodeId> outputs;
  for (const Graph::Output& output : body.outputs())
    outputs.emplace(output.name, moved[output.node.index()]);
  return outputs;
}

}  // namespace

Graph expand_bodies(const Graph& graph) {
  const auto has_body = [&](const Node& node) { return body_of(graph, node) != nullptr; };
  if (std::ranges::none_of(graph.nodes(), has_body)) return graph;
  Graph result;
  result.name = graph.name;
  result.metadata = graph.metadata;
  std::map<std::pair<std::string, std::vector<NodeId>>, std::map<std::string, NodeId>> expanded;
  std::vector<NodeId> moved(graph.size());
  for (const NodeId id : live_nodes(graph)) {
    Node node = graph.node(id);
    for (NodeId& input : node.inputs) input = moved[input.index()];
    const Graph* const body = body_of(graph, node);
    if (body == nullptr) {
      moved[id.index()] = result.append(std::move(node));
      continue;
    }
    const auto [at, is_new] = expanded.try_emplace({node.attrs.text("node"), node.inputs});
    if (is_new) at->second = append_body(result, *body, node.inputs);
    const NodeId value = at->second.at(std::to_string(node.attrs.integer("output")));
    moved[id.index()] = value;
    if (result.node(value).kind == NodeKind::kOperator) result.rename(value, node.name);
  }
  for (const Graph::Output& output : graph.outputs())
    result.add_output(output.name, moved[output.node.index()]);
  return result;
}

Graph cut_at_opaque(const Graph& with_bodies) {
  const Graph graph = expand_bodies(with_bodies);
  if (!has_opaque(graph)) return graph;
  Graph result;
  result.copy_header(graph);
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
