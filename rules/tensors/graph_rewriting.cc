// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/graph_rewriting.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "ir/analysis/element_facts.h"
#include "ir/core/symbolic_scope.h"
#include "rules/tensors/binding.h"
#include "rules/tensors/graph_sink.h"

namespace egret::rules {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::NodeKind;

namespace {

bool same_type(const ir::TensorType& a, const ir::TensorType& b) {
  if (a.dtype != b.dtype || a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    const ir::Guard equal = a.dims[i] == b.dims[i];
    if (!equal.is_true() && ir::decided(equal) != std::optional(true)) return false;
  }
  return true;
}

bool same_attrs(const ir::Attrs& a, const ir::Attrs& b) {
  return std::ranges::equal(a.entries(), b.entries(),
                            [](const ir::Attrs::Entry& x, const ir::Attrs::Entry& y) {
                              return x.name == y.name && x.value.index() == y.value.index() &&
                                     same_value(x.value, y.value);
                            });
}

// Whether two nodes are equal except for their inputs.
bool same_label(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.inputs.size() != b.inputs.size()) return false;
  switch (a.kind) {
    case NodeKind::kInput: return a.name == b.name;
    case NodeKind::kConstant:
      return a.type.rank() == 0 && b.type.rank() == 0 && a.type.dtype == b.type.dtype &&
             (ir::is_float(a.type.dtype) ? a.data.f64_at(0) == b.data.f64_at(0)
                                         : a.data.i64_at(0) == b.data.i64_at(0));
    case NodeKind::kOperator: return a.op == b.op && same_attrs(a.attrs, b.attrs);
  }
  return false;
}

// Matches a rule's source at a node.
class SourceMatch {
 public:
  SourceMatch(const Graph& graph, const Rule& rule) : graph_(graph), bound_(rule.tensors.size()) {}

  bool match(const Term& term, NodeId at) {
    if (term.kind == Term::Kind::kTensor) return bind(term.slot, at);
    const Node& node = graph_.node(at);
    if (term.kind != Term::Kind::kApply || node.kind != NodeKind::kOperator || node.op != term.op ||
        node.inputs.size() != term.arguments.size())
      return false;
    matched_.push_back({&term, &node.attrs});
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!match(term.arguments[i], node.inputs[i])) return false;
    }
    return true;
  }
  // A variable that occurs twice must stand for equal terms. They need not be the same node.
  bool bind(int slot, NodeId at) {
    std::optional<NodeId>& bound = bound_[static_cast<std::size_t>(slot)];
    if (bound) return same_term(graph_, *bound, graph_, at);
    bound = at;
    return true;
  }
  const std::vector<MatchedTerm>& matched() const { return matched_; }
  const std::vector<std::optional<NodeId>>& bound() const { return bound_; }

 private:
  const Graph& graph_;
  std::vector<std::optional<NodeId>> bound_;  // by slot
  std::vector<MatchedTerm> matched_;
};

using Handle = TermSink::Handle;

// Builds the rule's target for the node. `place` maps earlier nodes to the sink.
std::optional<Handle> target_of(const Rule& rule, const Graph& graph, NodeId at,
                                const std::vector<Handle>& place, Admission admits,
                                GraphSink& sink) {
  SourceMatch match(graph, rule);
  const Binding& source = rule.sources.front();
  if (!match.match(source.term, at)) return std::nullopt;
  std::vector<NodeId> variables;
  for (std::size_t slot = 0; slot < match.bound().size(); ++slot) {
    if (match.bound()[slot] && rule.is_variable(static_cast<int>(slot)))
      variables.push_back(*match.bound()[slot]);
  }
  if (!admits(variables)) return std::nullopt;
  Environment environment = make_environment(rule);
  for (std::size_t slot = 0; slot < match.bound().size(); ++slot) {
    if (const auto& bound = match.bound()[slot]) {
      const Handle handle = place[bound->index()];
      environment.tensors[slot] = {&sink.facts(handle), handle};
    }
  }
  // Conditions may refer to the node itself.
  environment.tensors[static_cast<std::size_t>(source.tensor)] = {&sink.facts(place[at.index()]),
                                                                  place[at.index()]};
  if (!bind_sources(rule, match.matched(), environment)) return std::nullopt;
  for (const Rule::Let& let : rule.lets) {
    if (!build_let(rule, let, environment, sink).ok()) return std::nullopt;
  }
  const auto built = build_term(rule, rule.targets.front().term, environment, sink);
  if (!built.ok() || !same_type(sink.facts(*built).type, graph.node(at).type)) return std::nullopt;
  return *built;
}

}  // namespace

bool is_single(const Rule& rule) { return rule.sources.size() == 1 && rule.targets.size() == 1; }

bool same_term(const Graph& a, NodeId x, const Graph& b, NodeId y) {
  // Compares pairs with an explicit stack, each pair once: graphs may be deep.
  std::vector<std::pair<NodeId, NodeId>> open{{x, y}};
  std::set<std::pair<NodeId, NodeId>> seen;
  while (!open.empty()) {
    const auto pair = open.back();
    open.pop_back();
    if ((&a == &b && pair.first == pair.second) || !seen.insert(pair).second) continue;
    const Node& left = a.node(pair.first);
    const Node& right = b.node(pair.second);
    if (!same_label(left, right)) return false;
    for (std::size_t i = 0; i < left.inputs.size(); ++i)
      open.emplace_back(left.inputs[i], right.inputs[i]);
  }
  return true;
}

bool same_terms(const Graph& a, const Graph& b) {
  return std::ranges::equal(a.outputs(), b.outputs(),
                            [&](const Graph::Output& x, const Graph::Output& y) {
                              return same_term(a, x.node, b, y.node);
                            });
}

std::optional<Graph> rewritten(const Graph& graph, NodeId at, const Rule& rule) {
  return rewritten(graph, at, rule, [](std::span<const NodeId>) { return true; });
}

std::optional<Graph> rewritten(const Graph& graph, NodeId at, const Rule& rule, Admission admits) {
  GraphSink sink;
  std::vector<Handle> place;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    Node node = graph.node(NodeId(i));
    for (NodeId& input : node.inputs) input = NodeId(place[input.index()]);
    std::optional<double> splat;
    if (node.kind == NodeKind::kConstant && node.type.rank() == 0)
      splat = ir::common_value(node.data);
    place.push_back(sink.append(std::move(node), splat));
    // The original node is appended first, because conditions may refer to it. Later nodes read the
    // target, and the original becomes dead unless the target uses it.
    if (i != at.index()) continue;
    const auto target = target_of(rule, graph, at, place, admits, sink);
    if (!target) return std::nullopt;
    place.back() = *target;
  }
  Graph result = std::move(sink.graph());
  for (const Graph::Output& output : graph.outputs())
    result.add_output(output.name, NodeId(place[output.node.index()]));
  return ir::without_dead_nodes(result);
}

}  // namespace egret::rules
