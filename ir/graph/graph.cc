// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/graph.h"

#include <algorithm>
#include <set>

#include "ir/graph/body.h"
#include "ir/graph/builder.h"
#include "ir/graph/open_sizes.h"

namespace egret::ir {

std::size_t Graph::operator_count() const {
  return static_cast<std::size_t>(std::ranges::count(nodes_, NodeKind::kOperator, &Node::kind));
}

NodeId Graph::append(Node node) {
  const NodeId id(nodes_.size());
  if (node.kind == NodeKind::kInput) inputs_.push_back(id);
  nodes_.push_back(std::move(node));
  return id;
}

// Inputs come before their readers, types are those that the operators give, and names are unique.
base::Status Graph::check_invariants() const {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& n = nodes_[i];
    const std::string place =
        "node " + std::to_string(i) + (n.name.empty() ? "" : " '" + n.name + "'");
    if ((n.kind == NodeKind::kOperator) != (n.op != nullptr))
      return base::internal_error(place + ": kind and operator disagree");
    std::vector<TensorType> types;
    for (const NodeId input : n.inputs) {
      if (input.index() >= i) return base::internal_error(place + ": input is not an earlier node");
      types.push_back(nodes_[input.index()].type);
    }
    if (n.kind == NodeKind::kInput && (n.name.empty() || !names.insert(n.name).second)) {
      return base::internal_error(place + ": graph inputs need unique names");
    }
    if (n.kind == NodeKind::kConstant && !(n.data.type() == n.type))
      return base::internal_error(place + ": type of constant");
    if (n.kind == NodeKind::kOperator) {
      auto type = infer_type(*n.op, n.attrs, types);
      if (!type.ok()) return base::internal_error(place + ": " + type.status().message());
      if (!(*type == n.type)) {
        return base::internal_error(place + ": has type " + to_string(n.type) +
                                    ", its operator gives " + to_string(*type));
      }
    }
  }
  names.clear();
  for (const Output& out : outputs_) {
    if (out.node.index() >= nodes_.size())
      return base::internal_error("output '" + out.name + "': no such node");
    if (out.name.empty() || !names.insert(out.name).second)
      return base::internal_error("graph outputs need unique names");
  }
  return base::ok();
}

void Graph::copy_header(const Graph& other) {
  name = other.name;
  metadata = other.metadata;
  bodies = other.bodies;
}

// Nodes come after their inputs, so one backward pass suffices. Graph inputs are always live.
std::vector<NodeId> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.size(), false);
  for (const NodeId input : graph.inputs()) live[input.index()] = true;
  for (const auto& out : graph.outputs()) live[out.node.index()] = true;
  for (std::size_t i = graph.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const NodeId input : graph.node(NodeId(i)).inputs) live[input.index()] = true;
  }
  std::vector<NodeId> ids;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (live[i]) ids.emplace_back(i);
  }
  return ids;
}

Graph without_dead_nodes(const Graph& graph) {
  Graph result;
  result.copy_header(graph);
  std::vector<NodeId> map(graph.size());
  for (const NodeId id : live_nodes(graph)) {
    Node node = graph.node(id);
    for (NodeId& input : node.inputs) input = map[input.index()];
    map[id.index()] = result.append(std::move(node));
  }
  for (const auto& out : graph.outputs()) result.add_output(out.name, map[out.node.index()]);
  return result;
}

std::vector<int> use_counts(const Graph& graph) {
  std::vector<int> uses(graph.size(), 0);
  for (const Node& node : graph.nodes()) {
    for (const NodeId input : node.inputs) ++uses[input.index()];
  }
  for (const auto& out : graph.outputs()) ++uses[out.node.index()];
  return uses;
}

namespace {

// Rebuilds a graph node by node; `make` gives each node's replacement in the builder.
template <typename Make>
base::Result<Graph> rebuilt(const Graph& graph, const Make& make) {
  GraphBuilder builder;
  std::vector<Value> map(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(NodeId(i));
    std::vector<Value> inputs;
    for (const NodeId input : node.inputs) inputs.push_back(map[input.index()]);
    map[i] = make(builder, node, inputs);
    if (!builder.ok()) return builder.status();
  }
  for (const auto& out : graph.outputs()) builder.output(out.name, map[out.node.index()]);
  EGRET_ASSIGN_OR_RETURN(Graph result, builder.finish());
  result.copy_header(graph);
  return result;
}

Value copy_node(GraphBuilder& builder, const Node& node, std::span<const Value> inputs) {
  switch (node.kind) {
    case NodeKind::kInput: return builder.input(node.name, node.type);
    case NodeKind::kConstant: return builder.constant(node.data, node.name);
    case NodeKind::kOperator: return builder.add(*node.op, inputs, node.attrs, node.name);
  }
  return {};
}

}  // namespace

// Only the inputs' types change; all other types are inferred again.
base::Result<Graph> bind_symbols(const Graph& graph,
                                 const std::map<std::string, std::int64_t>& sizes) {
  const SymbolNames present = open_sizes(graph);
  std::map<std::string, Index, std::less<>> bindings;
  for (const auto& [symbol, size] : sizes) {
    if (!present.contains(symbol)) {
      std::string known;
      for (const std::string& candidate : present) known += (known.empty() ? "" : ", ") + candidate;
      return base::usage_error(
          "unknown dimension '" + symbol + "'" +
          (known.empty() ? "; all sizes are fixed" : "; the dimensions are " + known));
    }
    if (size < 0) return base::usage_error("dimension '" + symbol + "' cannot be negative");
    bindings.emplace(symbol, size);
  }
  const auto lookup = [&](std::string_view name) -> const Index* {
    const auto found = bindings.find(name);
    return found != bindings.end() ? &found->second : nullptr;
  };
  const auto bound = [&](GraphBuilder& builder, const Node& node, std::span<const Value> inputs) {
    if (node.kind != NodeKind::kInput) return copy_node(builder, node, inputs);
    TensorType type = node.type;
    for (Index& dim : type.dims) dim = substitute(dim, lookup);
    return builder.input(node.name, std::move(type));
  };
  try {
    return rebuilt(graph, bound);
  } catch (const IndexError& error) {
    return base::usage_error(error.reason);
  }
}

// Repeats until no composite is left: the body of one may contain others. Bodies are not recursive,
// so this ends.
base::Result<Graph> expand_composites(const Graph& graph,
                                      const std::function<bool(const Node&)>& keep) {
  Graph current = graph;
  const auto to_expand = [&](const Node& node) {
    return node.kind == NodeKind::kOperator && node.op->is_composite() && !(keep && keep(node));
  };
  while (std::ranges::any_of(current.nodes(), to_expand)) {
    EGRET_ASSIGN_OR_RETURN(current, rebuilt(current, [&](GraphBuilder& builder, const Node& node,
                                                         std::span<const Value> inputs) {
                             if (!to_expand(node)) return copy_node(builder, node, inputs);
                             Body body(builder, inputs, node.attrs);
                             return node.op->build_body()(body);
                           }));
  }
  return current;
}

}  // namespace egret::ir
