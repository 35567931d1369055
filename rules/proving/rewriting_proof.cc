// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/rewriting_proof.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
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

bool is_decided(const ir::Guard& guard) {
  return guard.is_true() || ir::decided(guard) == std::optional(true);
}

// Calls `is` on all nodes of an expression until one is so.
template <typename Is>
bool any_part(const ir::ExprNode* root, const Is& is) {
  std::vector<const ir::ExprNode*> open{root};
  std::set<const ir::ExprNode*> seen;
  while (!open.empty()) {
    const ir::ExprNode* at = open.back();
    open.pop_back();
    if (!seen.insert(at).second) continue;
    if (is(*at)) return true;
    open.insert(open.end(), at->kids.begin(), at->kids.end());
  }
  return false;
}

Result<ir::Denotation> denotation_of(const Graph& graph, const Node& node) {
  std::vector<ir::TensorType> types;
  for (const NodeId input : node.inputs) types.push_back(graph.node(input).type);
  return ir::denote(*node.op, node.attrs, types);
}

// Whether elements of a graph may be infinite: it, or the definition of an operator, names an
// infinite number. Everything else that is defined is finite.
bool may_be_infinite(const Graph& graph) {
  const auto plain = ir::expand_composites(graph);
  if (!plain.ok()) return true;
  return std::ranges::any_of(plain->nodes(), [&](const Node& node) {
    if (node.kind == NodeKind::kConstant) {
      for (std::int64_t i = 0; i < node.data.elements(); ++i) {
        if (!std::isfinite(node.data.f64_at(i))) return true;
      }
    }
    if (node.kind != NodeKind::kOperator) return false;
    const auto meaning = denotation_of(*plain, node);
    return !meaning.ok() ||
           any_part(meaning->pool->node_of(meaning->value), [](const ir::ExprNode& part) {
             return part.op == ir::ExprOp::kConst && !std::isfinite(part.real);
           });
  });
}

// Whether all elements of a node are elements of inputs or constants.
bool moves_inputs(const Graph& graph, NodeId at) {
  const Node& node = graph.node(at);
  if (node.kind != NodeKind::kOperator) return true;
  const auto meaning = denotation_of(graph, node);
  if (!meaning.ok() || meaning->value.is_constant() ||
      meaning->value.node()->op != ir::ExprOp::kRead)
    return false;
  return std::ranges::all_of(node.inputs, [&](NodeId input) { return moves_inputs(graph, input); });
}

// Whether what a lemma's proof assumes of its variables holds for the nodes that they stand for.
bool is_admitted(const Lemma& lemma, const Graph& graph, std::span<const NodeId> variables) {
  std::vector<int> ranks;
  for (const NodeId variable : variables) ranks.push_back(graph.node(variable).type.rank());
  constexpr bool kHasEmpty = false;  // see below
  if (!lemma.limit.admits(ranks, kHasEmpty)) return false;
  bool computed = false;
  for (const NodeId variable : variables) {
    const Node& node = graph.node(variable);
    // Integers of proofs have no bounds, but those of inputs are within their type.
    if (ir::is_integer(node.type.dtype) && !moves_inputs(graph, variable)) return false;
    if (!std::ranges::all_of(node.type.dims,
                             [](const ir::Index& size) { return is_decided(size >= 1); }))
      return false;
    computed = computed || node.kind == NodeKind::kOperator;
  }
  return !computed || !may_be_infinite(graph);
}

std::optional<Graph> rewritten_by(const Lemma& lemma, const Graph& graph, NodeId at) {
  return rewritten(graph, at, lemma.rule, [&](std::span<const NodeId> variables) {
    return is_admitted(lemma, graph, variables);
  });
}

// The graphs reachable from one side, in breadth-first order.
class Side {
 public:
  Side(const Graph& start, std::span<const Lemma> lemmas) : lemmas_(lemmas) {
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
    for (const Lemma& lemma : lemmas_) {
      if (states_.size() >= most) return;
      const Graph& graph = states_[state].graph;
      if (!is_single(lemma.rule) || lemma.rule.sources.front().term.op != graph.node(at).op ||
          graph.node(at).kind != NodeKind::kOperator)
        continue;
      auto made = rewritten_by(lemma, graph, at);
      if (!made || !index_.emplace(key_of(*made), states_.size()).second) continue;
      states_.push_back({*std::move(made), state, {at, &lemma}});
    }
  }

  std::span<const Lemma> lemmas_;
  std::vector<State> states_;
  std::map<std::string, std::size_t> index_;
  std::size_t next_ = 0;
};

// The definitions' requirements must hold for the graph's terms to be defined.
Status decide_requirements(const Graph& graph) {
  EGRET_ASSIGN_OR_RETURN(const Graph plain, ir::expand_composites(graph));
  for (const Node& node : plain.nodes()) {
    if (node.kind != NodeKind::kOperator) continue;
    EGRET_ASSIGN_OR_RETURN(const ir::Denotation meaning, denotation_of(plain, node));
    for (const ir::Requirement& requirement : meaning.requirements) {
      if (!is_decided(requirement.condition))
        return base::bad_input(node.op->name() + ": a requirement does not hold");
    }
  }
  return base::ok();
}

// Replays steps on a graph over symbols, and returns it and the graph after each step. A rule may
// not apply there although it applied to numbers; then the steps are no proof.
Result<std::vector<Graph>> replayed(std::span<const Rewriting> steps, const Graph& start) {
  std::vector<Graph> graphs{ir::without_dead_nodes(start)};
  for (const Rewriting& step : steps) {
    auto next = rewritten_by(*step.by, graphs.back(), step.at);
    if (!next)
      return base::bad_input("rule '" + step.by->rule.name + "' does not apply to symbolic sizes");
    graphs.push_back(*std::move(next));
    EGRET_RETURN_IF_ERROR(decide_requirements(graphs.back()));
  }
  return graphs;
}

}  // namespace

std::vector<std::string> Rewritings::lines() const {
  std::vector<std::string> lines;
  for (const auto& [side, steps] : {std::pair("left", &left), std::pair("right", &right)}) {
    for (const Rewriting& step : *steps)
      lines.push_back(std::string(side) + " rewritten by " + step.by->rule.name);
  }
  lines.emplace_back("both sides are the same graph");
  return lines;
}

std::optional<Rewritings> find_rewritings(const Graph& left, const Graph& right,
                                          std::span<const Lemma> lemmas,
                                          const RewritingLimits& limits) {
  // Expands both sides in turn, one level at a time, until they meet.
  Side from_left(ir::without_dead_nodes(left), lemmas);
  Side from_right(ir::without_dead_nodes(right), lemmas);
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

Result<std::vector<Graph>> replay(const Rewritings& rewritings, const Graph& left,
                                  const Graph& right) {
  EGRET_ASSIGN_OR_RETURN(std::vector<Graph> a, replayed(rewritings.left, left));
  EGRET_ASSIGN_OR_RETURN(std::vector<Graph> b, replayed(rewritings.right, right));
  if (!same_terms(a.back(), b.back()))
    return base::bad_input("the two ends differ for symbolic sizes");
  a.erase(a.begin());
  a.insert(a.end(), std::make_move_iterator(b.begin() + 1), std::make_move_iterator(b.end()));
  return a;
}

}  // namespace egret::rules
