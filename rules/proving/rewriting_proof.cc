// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/rewriting_proof.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "ir/core/symbolic_scope.h"
#include "rules/tensors/graph_rewriting.h"

namespace egret::rules {

using base::Result;
using base::Status;
using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::NodeKind;

namespace {

// A key that is equal for graphs whose outputs are the same terms.
std::string key_of(const Graph& graph) {
  std::vector<std::string> keys;
  for (const Node& node : graph.nodes()) {
    std::string text;
    switch (node.kind) {
      case NodeKind::kInput: text = "?" + node.name; break;
      case NodeKind::kConstant:
        text = to_string(node.type) + node.data.content_hash().to_hex();
        break;
      case NodeKind::kOperator: text = node.op->name() + ir::to_string(node.attrs); break;
    }
    for (const NodeId input : node.inputs) text += "," + keys[input.index()];
    keys.push_back(base::content_hash(text).to_hex());
  }
  std::string all;
  for (const Graph::Output& output : graph.outputs()) all += keys[output.node.index()] + " ";
  return all;
}

// The graphs reachable from one side, in breadth-first order.
class Side {
 public:
  Side(const Graph& start, std::span<const Rule> rules) : rules_(rules) {
    states_.push_back({start, kNone, {}});
    index_.emplace(key_of(start), 0);
  }

  // Expands the last level, up to `most` graphs.
  void expand(std::size_t most) {
    const std::size_t end = states_.size();
    for (; next_ < end && states_.size() < most; ++next_) {
      for (std::size_t node = 0; node < states_[next_].graph.size(); ++node)
        rewrite(next_, NodeId(node), most);
    }
  }
  std::size_t size() const { return states_.size(); }

  // The first graph that both sides reached, with its number on each side.
  std::optional<std::pair<std::size_t, std::size_t>> common_with(const Side& other) const {
    std::optional<std::pair<std::size_t, std::size_t>> first;
    for (const auto& [key, state] : index_) {
      const auto found = other.index_.find(key);
      if (found == other.index_.end()) continue;
      const std::pair both(state, found->second);
      if (!first || both < *first) first = both;
    }
    return first;
  }
  std::vector<Rewriting> way_to(std::size_t state) const {
    std::vector<Rewriting> way;
    for (; states_[state].parent != kNone; state = states_[state].parent)
      way.push_back(states_[state].by);
    std::ranges::reverse(way);
    return way;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct State {
    Graph graph;
    std::size_t parent;
    Rewriting by;
  };

  // Applies each rule with a single source at this node. A graph that was reached before is
  // dropped.
  void rewrite(std::size_t state, NodeId at, std::size_t most) {
    for (const Rule& rule : rules_) {
      if (states_.size() >= most) return;
      const Graph& graph = states_[state].graph;
      if (!is_single(rule) || rule.sources.front().term.op != graph.node(at).op ||
          graph.node(at).kind != NodeKind::kOperator)
        continue;
      auto made = rewritten(graph, at, rule);
      if (!made || !index_.emplace(key_of(*made), states_.size()).second) continue;
      states_.push_back({*std::move(made), state, {at, &rule}});
    }
  }

  std::span<const Rule> rules_;
  std::vector<State> states_;
  std::map<std::string, std::size_t> index_;
  std::size_t next_ = 0;
};

// The definitions' requirements must hold for the graph's terms to be defined.
Status decide_requirements(const Graph& graph) {
  EGRET_ASSIGN_OR_RETURN(const Graph plain, ir::expand_composites(graph));
  for (const Node& node : plain.nodes()) {
    if (node.kind != NodeKind::kOperator) continue;
    std::vector<ir::TensorType> types;
    for (const NodeId input : node.inputs) types.push_back(plain.node(input).type);
    EGRET_ASSIGN_OR_RETURN(const ir::Denotation meaning, ir::denote(*node.op, node.attrs, types));
    for (const ir::Requirement& requirement : meaning.requirements) {
      if (!requirement.condition.is_true() &&
          ir::decided(requirement.condition) != std::optional(true))
        return base::bad_input(node.op->name() + ": a requirement does not hold");
    }
  }
  return base::ok();
}

// Replays steps on a graph over symbols. A rule may not apply there although it applied to numbers;
// then the steps are no proof.
Result<Graph> replayed(std::span<const Rewriting> steps, Graph graph) {
  for (const Rewriting& step : steps) {
    auto next = rewritten(graph, step.at, *step.rule);
    if (!next)
      return base::bad_input("rule '" + step.rule->name + "' does not apply to symbolic sizes");
    graph = *std::move(next);
    EGRET_RETURN_IF_ERROR(decide_requirements(graph));
  }
  return graph;
}

}  // namespace

std::vector<std::string> Rewritings::lines() const {
  std::vector<std::string> lines;
  for (const auto& [side, steps] : {std::pair("left", &left), std::pair("right", &right)}) {
    for (const Rewriting& step : *steps)
      lines.push_back(std::string(side) + " rewritten by " + step.rule->name);
  }
  lines.emplace_back("both sides are the same graph");
  return lines;
}

std::optional<Rewritings> find_rewritings(const Graph& left, const Graph& right,
                                          std::span<const Rule> rules,
                                          const RewritingLimits& limits) {
  // Expands both sides in turn, one level at a time, until they meet.
  Side from_left(ir::without_dead_nodes(left), rules);
  Side from_right(ir::without_dead_nodes(right), rules);
  for (int level = 0;; ++level) {
    if (const auto common = from_left.common_with(from_right))
      return Rewritings{from_left.way_to(common->first), from_right.way_to(common->second)};
    if (level == 2 * limits.depth || from_left.size() + from_right.size() >= limits.graphs)
      return std::nullopt;
    const bool turn = level % 2 == 0;
    Side& side = turn ? from_left : from_right;
    side.expand(limits.graphs - (turn ? from_right : from_left).size());
  }
}

Status replay(const Rewritings& rewritings, const Graph& left, const Graph& right) {
  EGRET_ASSIGN_OR_RETURN(const Graph a, replayed(rewritings.left, ir::without_dead_nodes(left)));
  EGRET_ASSIGN_OR_RETURN(const Graph b, replayed(rewritings.right, ir::without_dead_nodes(right)));
  return same_terms(a, b) ? base::ok() : base::bad_input("the two ends differ for symbolic sizes");
}

}  // namespace egret::rules
