// SPDX-License-Identifier: Apache-2.0
#include "driver/search/flow_split.h"

#include <algorithm>

#include "base/stop.h"
#include "base/timer.h"
#include "driver/search/backtracking.h"
#include "driver/search/minimum_cut.h"
#include "ir/graph/constant_nodes.h"
#include "rules/tensors/term_graph.h"

namespace egret::driver {

using ir::Graph;
using ir::Node;
using ir::NodeId;

namespace {

constexpr std::size_t kPartOperators = 30;  // as in the paper

std::size_t count(const Members& members) {
  return static_cast<std::size_t>(std::ranges::count(members, 1));
}

// The members of the first of two halves: with a node, all that it needs.
// A minimum vertex cut. Each node is an edge from its in-vertex to its out-vertex, with the number
// of matches that it would cut as capacity. The first and the last quarter of the nodes are tied to
// source and sink, so both halves have at least a quarter of the members. Unlimited edges against
// the direction of the data keep the first half closed under inputs.
Members first_half(const Graph& graph, const Members& members,
                   std::span<const std::int64_t> capacity) {
  constexpr std::int64_t kNever = FlowNetwork::kUnlimited;
  const std::size_t source = 2 * graph.size();
  const std::size_t sink = source + 1;
  const auto in = [](std::size_t i) { return 2 * i; };
  const auto out = [](std::size_t i) { return 2 * i + 1; };
  FlowNetwork network(sink + 1);
  const std::size_t quarter = std::max<std::size_t>(1, count(members) / 4);
  const std::size_t last = count(members) - quarter;
  std::size_t at = 0;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (members[i] == 0) continue;
    network.edge(in(i), out(i), capacity[i]);
    if (at < quarter) network.edge(source, in(i), kNever);
    if (at >= last) network.edge(in(i), sink, kNever);
    for (const NodeId input : graph.node(NodeId(i)).inputs) {
      if (members[input.index()] == 0) continue;
      network.edge(out(input.index()), in(i), kNever);
      network.edge(in(i), in(input.index()), kNever);  // none is before what it needs
    }
    ++at;
  }
  const std::vector<char> reached = network.source_side(source, sink);
  Members first(graph.size(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i)
    first[i] = members[i] != 0 && reached[in(i)] != 0 ? 1 : 0;
  return first;
}

}  // namespace

// Halves recursively (MetaFlow: Jia et al., MLSys 2019) until each part is small enough for a
// search over whole graphs, whose cost grows exponentially with the number of operators.
FlowSplit split_by_flow(const Graph& graph, std::span<const std::int64_t> capacity,
                        std::size_t most_operators) {
  const std::vector<bool> constant = ir::constant_nodes(graph);
  Members all(graph.size(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    all[i] = graph.node(NodeId(i)).kind == ir::NodeKind::kOperator && !constant[i] ? 1 : 0;
  }
  FlowSplit split;
  std::vector<Members> open{all};
  // Terminates: both halves are smaller than the whole.
  for (std::size_t next = 0; next < open.size(); ++next) {
    const Members members = open[next];
    if (count(members) <= std::max<std::size_t>(most_operators, 3)) {
      split.parts.push_back(members);
      continue;
    }
    const Members first = first_half(graph, members, capacity);
    Members second = members;
    std::vector<char> crosses(graph.size(), 0);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (first[i] != 0) second[i] = 0;
      if (second[i] == 0) continue;
      for (const NodeId input : graph.node(NodeId(i)).inputs)
        if (first[input.index()] != 0) crosses[input.index()] = 1;
    }
    split.cuts.emplace_back();
    for (std::size_t i = 0; i < graph.size(); ++i)
      if (crosses[i] != 0) split.cuts.back().emplace_back(i);
    open.push_back(first);
    open.push_back(second);
  }
  return split;
}

namespace {

// How many matches hold an edge into a node and one out of it, plus 1.
base::Result<std::vector<std::int64_t>> capacities(const Graph& graph,
                                                   const rules::AdmittedRules& rules) {
  EGRET_ASSIGN_OR_RETURN(const auto terms, rules::TensorEGraph::from_graph(graph));
  const std::vector<egraph::ClassId> term_of = rules::terms_of(*terms, graph);
  const rules::TermGraph program(*terms, terms->roots());
  std::vector<std::int64_t> crossed(terms->egraph().id_count(), 1);
  for (const rules::CompiledRule& rule : rules::compile(rules, *terms)) {
    const egraph::Pattern& pattern = rule.rewrite.pattern();
    rules::for_each_match(*terms, program, pattern, [&](const egraph::Match& match) {
      const egraph::EGraph::Savepoint before = terms->egraph().savepoint();
      const bool applies = !rules::replacements(*terms, rule.rewrite, match).empty();
      terms->egraph().rollback(before);
      if (!applies) return;
      std::vector<egraph::ClassId> used;
      for (const egraph::Pattern::Atom& atom : pattern.atoms())
        for (const egraph::VarId child : atom.children) used.push_back(match[child]);
      std::vector<egraph::ClassId> inner;
      for (const egraph::Pattern::Atom& atom : pattern.atoms())
        if (std::ranges::find(used, match[atom.result]) != used.end())
          inner.push_back(match[atom.result]);
      std::ranges::sort(inner);
      inner.erase(std::unique(inner.begin(), inner.end()), inner.end());
      for (const egraph::ClassId term : inner) ++crossed[term.index()];
    });
  }
  std::vector<std::int64_t> result;
  for (const egraph::ClassId term : term_of)
    result.push_back(term.valid() ? crossed[term.index()] : 1);
  return result;
}

// The operators around a cut, as many as a part has.
Members around(const Graph& graph, std::span<const NodeId> cut) {
  const std::vector<bool> constant = ir::constant_nodes(graph);
  std::vector<std::vector<NodeId>> neighbours(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const NodeId input : graph.node(NodeId(i)).inputs) {
      neighbours[i].push_back(input);
      neighbours[input.index()].emplace_back(i);
    }
  }
  Members members(graph.size(), 0);
  std::vector<NodeId> reached;
  const auto reach = [&](NodeId id) {
    const bool outside = graph.node(id).kind != ir::NodeKind::kOperator || constant[id.index()] ||
                         members[id.index()] != 0;
    if (outside || reached.size() >= kPartOperators) return;
    members[id.index()] = 1;
    reached.push_back(id);
  };
  // Breadth first in both directions until the part is full; then convex() adds the nodes on paths
  // between members.
  for (const NodeId id : cut) reach(id);
  for (std::size_t next = 0; next < reached.size(); ++next)
    for (const NodeId id : neighbours[reached[next].index()]) reach(id);
  return convex(graph, members);
}

class PartSearch {
 public:
  PartSearch(const Graph& graph, const rules::AdmittedRules& rules, const PriceOf& price,
             const GraphSearchOptions& options)
      : graph_(graph),
        rules_(rules),
        price_(price),
        options_(options),
        deadline_(base::Deadline::after(options.seconds)) {}

  // First each part by itself, then the surroundings of each cut, where matches crossed the border
  // between two parts. Each search changes the graph, so the remaining parts and cuts are renamed.
  base::Result<GraphSearchResult> run() {
    EGRET_ASSIGN_OR_RETURN(const std::vector<std::int64_t> capacity, capacities(graph_, rules_));
    FlowSplit split = split_by_flow(graph_, capacity, kPartOperators);
    left_ = split.parts.size() + split.cuts.size();
    result_.stop_reason = "exhausted";
    for (std::size_t k = 0; k < split.parts.size(); ++k) {
      EGRET_ASSIGN_OR_RETURN(const std::vector<NodeId> place, improve(split.parts[k]));
      for (std::size_t later = k + 1; later < split.parts.size(); ++later)
        split.parts[later] = moved(split.parts[later], place);
      for (auto& cut : split.cuts) move(cut, place);
    }
    for (std::size_t k = 0; k < split.cuts.size(); ++k) {
      EGRET_ASSIGN_OR_RETURN(const std::vector<NodeId> place,
                             improve(around(graph_, split.cuts[k])));
      for (std::size_t later = k + 1; later < split.cuts.size(); ++later)
        move(split.cuts[later], place);
    }
    return finish();
  }

 private:
  // Searches in one region; where the nodes of the graph went.
  base::Result<std::vector<NodeId>> improve(const Members& members) {
    GraphSearchOptions part = options_;
    // Time that earlier parts did not use is shared by the later ones.
    part.seconds = deadline_.remaining() / static_cast<double>(std::max<std::size_t>(left_, 1));
    --left_;
    const Region region = cut_out(graph_, members);
    EGRET_ASSIGN_OR_RETURN(GraphSearchResult found, backtrack(region.graph, rules_, price_, part));
    PutBack joined = put_back(graph_, region, found.graph);
    graph_ = std::move(joined.graph);
    result_.rewritten += found.rewritten;
    result_.seen += found.seen;
    result_.terms += found.terms;
    for (const auto& [rule, times] : found.applied) result_.applied[rule] += times;
    if (result_.stop_reason == "exhausted" || found.limit_hit)
      result_.stop_reason = found.stop_reason;
    result_.limit_hit = result_.limit_hit || found.limit_hit;
    return std::move(joined.place);
  }

  static void move(std::vector<NodeId>& nodes, std::span<const NodeId> place) {
    for (NodeId& node : nodes) node = place[node.index()];
    std::erase_if(nodes, [](NodeId node) { return !node.valid(); });
  }
  Members moved(const Members& members, std::span<const NodeId> place) const {
    Members result(graph_.size(), 0);
    for (std::size_t i = 0; i < members.size(); ++i)
      if (members[i] != 0 && place[i].valid()) result[place[i].index()] = 1;
    return result;
  }

  // Equal operators of several parts are one.
  base::Result<GraphSearchResult> finish() {
    GraphSearchOptions none = options_;
    none.budget = 0;
    EGRET_ASSIGN_OR_RETURN(GraphSearchResult whole, backtrack(graph_, rules_, price_, none));
    result_.graph = std::move(whole.graph);
    result_.cost = whole.cost;
    return std::move(result_);
  }

  Graph graph_;
  const rules::AdmittedRules& rules_;
  const PriceOf& price_;
  const GraphSearchOptions& options_;
  base::Deadline deadline_;
  std::size_t left_ = 0;  // searches
  GraphSearchResult result_;
};

}  // namespace

base::Result<GraphSearchResult> backtrack_in_parts(const Graph& graph,
                                                   const rules::AdmittedRules& rules,
                                                   const PriceOf& price,
                                                   const GraphSearchOptions& options) {
  return PartSearch(ir::without_dead_nodes(graph), rules, price, options).run();
}

}  // namespace egret::driver
