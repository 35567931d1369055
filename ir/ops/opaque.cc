// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/opaque.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace egret::ir {
namespace {

void define_node(Definition& d) {
  d.output(DType::kF32, Dims{});
  d.value(0);  // never read: denote() refuses opaque operators
}

constexpr const char* kUnknown = "unknown";

void define_output(Definition& d) {
  if (d.text("dtype") == kUnknown) return define_node(d);
  const auto dtype = parse_dtype(d.text("dtype"));
  if (!dtype) {
    d.fail("there is no element type '" + d.text("dtype") + "'");
    return;
  }
  const std::vector<Index> sizes = d.sizes("shape");
  d.output(*dtype, Dims(sizes.begin(), sizes.end()));
  d.value(0);
}

Operator make_node() {
  return Operator(OperatorKind::kOpaque, "opaque", "A node that stays as it is", {"operands"})
      .variadic(0)
      .attr("node", AttrKind::kText, "the node, by a key")
      .attr("type", AttrKind::kText, "the node's operator")
      .defined_by(define_node);
}

Operator make_output() {
  return Operator(OperatorKind::kOpaque, "opaque_output", "One output of an opaque node", {"node"})
      .attr("output", AttrKind::kInteger, "which of its outputs")
      .attr("dtype", AttrKind::kText, "the element type, or unknown")
      .attr("shape", AttrKind::kIntegers, "the sizes")
      .defined_by(define_output);
}

bool is_node(const Node& node) {
  return node.kind == NodeKind::kOperator && node.op == &opaque_operator();
}

bool is_output(const Node& node) {
  return node.kind == NodeKind::kOperator && node.op == &opaque_output();
}

}  // namespace

const Operator& opaque_operator() {
  static const Operator* const made = new Operator(make_node());  // immortal, as all are
  return *made;
}

const Operator& opaque_output() {
  static const Operator* const made = new Operator(make_output());
  return *made;
}

Attrs opaque_attrs(std::string node, std::string type) {
  return {{"node", std::move(node)}, {"type", std::move(type)}};
}

Attrs opaque_output_attrs(std::int64_t output, DType dtype, Integers shape) {
  return {
      {"output", output}, {"dtype", std::string(to_string(dtype))}, {"shape", std::move(shape)}};
}

Attrs untyped_output_attrs(std::int64_t output) {
  return {{"output", output}, {"dtype", std::string(kUnknown)}, {"shape", Integers{}}};
}

bool has_opaque(const Graph& graph) { return std::ranges::any_of(graph.nodes(), is_node); }

bool has_undefined(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const Node& node) {
    return is_node(node) && body_of(graph, node) == nullptr;
  });
}

const Graph* body_of(const Graph& graph, const Node& node) {
  if (!is_node(node)) return nullptr;
  const auto found = graph.bodies.find(node.attrs.text("node"));
  return found != graph.bodies.end() ? found->second.graph.get() : nullptr;
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

// Each opaque node with a body is replaced by the body. Its outputs become those of the body by
// name.
Graph expand_bodies(const Graph& graph) {
  const auto has_body = [&](const Node& node) { return body_of(graph, node) != nullptr; };
  if (std::ranges::none_of(graph.nodes(), has_body)) return graph;
  Graph result;
  result.name = graph.name;
  result.metadata = graph.metadata;
  std::map<NodeId, std::map<std::string, NodeId>> expanded;  // outputs, by node
  std::vector<NodeId> moved(graph.size());
  for (const NodeId id : live_nodes(graph)) {
    Node node = graph.node(id);
    if (const Graph* body = body_of(graph, node)) {
      for (NodeId& input : node.inputs) input = moved[input.index()];
      expanded[id] = append_body(result, *body, node.inputs);
      continue;
    }
    const auto whole = is_output(node) ? expanded.find(node.inputs[0]) : expanded.end();
    if (whole == expanded.end()) {
      for (NodeId& input : node.inputs) input = moved[input.index()];
      moved[id.index()] = result.append(std::move(node));
      continue;
    }
    const NodeId value = whole->second.at(std::to_string(node.attrs.integer("output")));
    moved[id.index()] = value;
    if (result.node(value).kind == NodeKind::kOperator) result.rename(value, node.name);
  }
  for (const Graph::Output& output : graph.outputs())
    result.add_output(output.name, moved[output.node.index()]);
  return result;
}

// The graph without its opaque nodes: their results become inputs, and their operands become
// outputs.
Graph cut_at_opaque(const Graph& with_bodies) {
  const Graph graph = expand_bodies(with_bodies);
  if (!has_opaque(graph)) return graph;
  Graph result;
  result.copy_header(graph);
  // By name, so that the order depends on the opaque nodes alone.
  std::map<std::pair<std::string, std::int64_t>, NodeId> results;
  std::map<std::string, NodeId> operands;
  std::vector<bool> cut(graph.size(), false);
  const std::vector<NodeId> live = live_nodes(graph);
  for (const NodeId id : live) {
    const Node& node = graph.node(id);
    if (is_output(node)) {
      const std::string& key = graph.node(node.inputs[0]).attrs.text("node");
      results.emplace(std::pair(key, node.attrs.integer("output")), id);
    }
    if (!is_node(node)) continue;
    cut[id.index()] = true;
    // Also operands that are inputs or constants: they may be computed in an equal graph.
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      operands.emplace(node.attrs.text("node") + "(" + std::to_string(i) + ")", node.inputs[i]);
  }
  std::vector<NodeId> moved(graph.size());
  for (const NodeId id : graph.inputs()) moved[id.index()] = result.append(graph.node(id));
  for (const auto& [name, id] : results) {
    moved[id.index()] = result.append({.kind = NodeKind::kInput,
                                       .type = graph.node(id).type,
                                       .name = name.first + "#" + std::to_string(name.second)});
  }
  for (const NodeId id : live) {
    if (moved[id.index()].valid() || cut[id.index()]) continue;
    Node node = graph.node(id);
    for (NodeId& input : node.inputs) input = moved[input.index()];
    moved[id.index()] = result.append(std::move(node));
  }
  for (const Graph::Output& output : graph.outputs())
    result.add_output(output.name, moved[output.node.index()]);
  for (const auto& [name, id] : operands) result.add_output(name, moved[id.index()]);
  return without_dead_nodes(result);
}

Graph cut_like(const Graph& cut, const Graph& like) {
  const auto names_of = [](const Graph& graph) {
    std::vector<std::string> names;
    for (const NodeId id : graph.inputs()) names.push_back(graph.node(id).name);
    names.emplace_back();
    for (const Graph::Output& output : graph.outputs()) names.push_back(output.name);
    return names;
  };
  if (names_of(cut) == names_of(like)) return cut;
  Graph result;
  result.copy_header(cut);
  std::map<std::string, NodeId> inputs;
  std::vector<NodeId> moved(like.size());
  for (const NodeId id : like.inputs()) {
    moved[id.index()] = result.append(like.node(id));
    inputs.emplace(like.node(id).name, moved[id.index()]);
  }
  const auto copy = [&](const Graph& from, NodeId id, std::vector<NodeId>& map) {
    if (map[id.index()].valid()) return;
    Node node = from.node(id);
    for (NodeId& input : node.inputs) input = map[input.index()];
    map[id.index()] = result.append(std::move(node));
  };
  std::vector<NodeId> own(cut.size());
  for (const NodeId id : cut.inputs()) {
    const auto found = inputs.find(cut.node(id).name);
    EGRET_CHECK(found != inputs.end(), "an equal program reads no other results");
    own[id.index()] = found->second;
  }
  for (const NodeId id : live_nodes(cut)) copy(cut, id, own);
  std::map<std::string, NodeId> outputs;
  for (const Graph::Output& output : cut.outputs())
    outputs.emplace(output.name, own[output.node.index()]);
  for (const NodeId id : live_nodes(like)) {
    // Inner values of the two graphs may have the same names.
    if (!moved[id.index()].valid()) {
      copy(like, id, moved);
      result.rename(moved[id.index()], "");
    }
  }
  for (const Graph::Output& output : like.outputs()) {
    const auto found = outputs.find(output.name);
    result.add_output(output.name,
                      found != outputs.end() ? found->second : moved[output.node.index()]);
  }
  return without_dead_nodes(result);
}

}  // namespace egret::ir
