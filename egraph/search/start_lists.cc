// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/start_lists.h"

#include <algorithm>
#include <numeric>

namespace egret::egraph {

using Kind = JoinStep::Kind;

// The lists of nodes or classes at which a walk starts. With a delta only its nodes: those that
// moved, then those made since.
std::vector<TrieWalk::Start> starts_of(const EGraph& egraph, const ConstantClasses& constants,
                                       const SearchTrie::Expansion& root, const Delta* delta,
                                       std::deque<std::vector<NodeId>>& made) {
  std::vector<TrieWalk::Start> starts;
  const auto add = [&](std::span<const NodeId> nodes) {
    if (!nodes.empty()) starts.push_back({nodes, 0, 0});
  };
  const auto add_op = [&](OpId op) {
    if (delta == nullptr) {
      add(egraph.nodes_with(op));
    } else {
      add(delta->moved(op));
      add(delta->fresh(op));
    }
  };
  if (root.once) {
    starts.push_back({{}, 0, 1});
    return starts;
  }
  switch (root.kind) {
    case Kind::kLookup: break;  // only follows others
    case Kind::kClass: add(egraph.nodes(constants.classes()[root.via])); break;
    case Kind::kParents: {
      const auto parents = egraph.parents(constants.classes()[root.via]);
      std::vector<NodeId>& nodes = made.emplace_back();
      for (const NodeId node : parents) nodes.push_back(node);
      // The parents come in the order of chains that merges have joined. Sorted by id they are in
      // order of creation, so the order of the matches depends on the e-graph's content alone, and
      // the accesses to the arena are sequential.
      std::sort(nodes.begin(), nodes.end());
      add(nodes);
      break;
    }
    case Kind::kEveryClass:
      // Class ids grow in order of creation, so the new classes are a range at the end.
      starts.push_back({{}, delta == nullptr ? 0 : delta->seen().ids, egraph.id_count()});
      break;
    case Kind::kOperator:
      if (root.op.valid()) {
        add_op(root.op);
      } else {
        for (const OpId op : egraph.ops().ops_of(root.base)) {
          if (egraph.ops().arity(op) == root.arity) add_op(op);
        }
      }
      break;
  }
  return starts;
}

// A child of the first node at which no later step of the plan continues. Grouping the starts by
// this child does not disturb the accesses of later steps, and neighbouring matches then agree in
// its class.
std::optional<std::size_t> leaf_child(const SearchTrie& trie, const SearchTrie::Plan& plan) {
  const SearchTrie::Expansion& first = trie.expansion(plan.expansions.front());
  if (plan.expansions.size() < 2 || first.kind == Kind::kLookup) return {};
  // Whether a later step enumerates or looks up from this register. Equality filters do not count:
  // they read the register and no memory of its class.
  const auto goes_on_from = [&](SearchTrie::Register reg) {
    return std::ranges::any_of(std::span(plan.expansions).subspan(1), [&](std::uint32_t index) {
      const SearchTrie::Expansion& e = trie.expansion(index);
      const bool listed = std::ranges::count(e.vias, reg) + std::ranges::count(e.lookup, reg) > 0;
      return listed || ((e.kind == Kind::kClass || e.kind == Kind::kParents) && e.via == reg);
    });
  };
  for (std::size_t child = 0; child < first.arity; ++child) {
    if (!goes_on_from(static_cast<SearchTrie::Register>(first.first_child + child))) return child;
  }
  return {};
}

// Gathering needs an array over all ids, so it pays only for many nodes.
bool is_worth_gathering(const EGraph& egraph, std::span<const NodeId> nodes) {
  constexpr std::size_t kMany = 4096;
  constexpr std::size_t kIdsToNodes = 16;
  return nodes.size() >= kMany && nodes.size() >= egraph.id_count() / kIdsToNodes;
}

// A stable order: nodes with the same child keep their order of creation. O(nodes + ids).
std::vector<NodeId> gathered(const EGraph& egraph, std::span<const NodeId> nodes,
                             std::size_t child) {
  // A counting sort by the child's class id.
  std::vector<std::uint32_t> keys;
  keys.reserve(nodes.size());
  for (const NodeId node : nodes) keys.push_back(egraph.children(node)[child].index());
  std::vector<std::uint32_t> next(egraph.id_count() + 1);
  for (const std::uint32_t key : keys) ++next[key + 1];
  // next[k] is now the position of the first node with key k.
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<NodeId> made(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) made[next[keys[i]]++] = nodes[i];
  return made;
}

namespace {

// Estimates the sum of cost(node) over a plan's start nodes from about kSamples samples per list.
template <typename Cost>
// The samples lie at a fixed stride, so the estimate is deterministic. It decides only between
// plans that find the same matches.
std::uint64_t estimate(std::span<const TrieWalk::Start> starts, Cost cost) {
  constexpr std::size_t kSamples = 256;
  std::uint64_t sum = 0;
  for (const TrieWalk::Start& start : starts) {
    const std::size_t step = start.nodes.size() / kSamples + 1;
    for (std::size_t i = 0; i < start.nodes.size(); i += step) sum += step * cost(start.nodes[i]);
  }
  return sum;
}

}  // namespace

// The number of nodes that the first step of a plan visits; parents count twice.
std::uint64_t plan_cost(const EGraph& egraph, const ConstantClasses& constants,
                        const SearchTrie& trie, const SearchTrie::Plan& plan, const Delta* delta) {
  // A factor for parents, which must be filtered by operator: those of a constant, and those of a
  // plan that begins below its pattern's top.
  constexpr std::uint64_t kParents = 2;
  const SearchTrie::Expansion& root = trie.expansion(plan.root);
  if (root.kind == Kind::kParents) {
    return kParents * egraph.parents_bound(constants.classes()[root.via]);
  }
  std::deque<std::vector<NodeId>> none;
  const auto starts = starts_of(egraph, constants, root, delta, none);
  std::uint64_t cost = 0;
  for (const TrieWalk::Start& start : starts)
    cost += start.nodes.size() + (start.class_end - start.class_begin);
  if (!plan.climbs) return cost;
  return cost + kParents * estimate(starts, [&](NodeId node) {
                  return egraph.parents_bound(egraph.class_of(node));
                });
}

// The number of nodes that the second step visits, if it enumerates a class found by the first.
std::uint64_t descent_cost(const EGraph& egraph, const ConstantClasses& constants,
                           const SearchTrie& trie, const SearchTrie::Plan& plan,
                           const Delta* delta) {
  if (plan.climbs || plan.expansions.size() < 2) return 0;
  const SearchTrie::Expansion& root = trie.expansion(plan.root);
  const SearchTrie::Expansion& next = trie.expansion(plan.expansions[1]);
  const bool begins_with_nodes = root.kind == Kind::kOperator && !root.once;
  if (!begins_with_nodes || next.kind != Kind::kClass) return 0;
  const bool from_child = next.via >= root.first_child && next.via < root.first_child + root.arity;
  if (!from_child && next.via != root.out) return 0;
  std::deque<std::vector<NodeId>> none;
  return estimate(starts_of(egraph, constants, root, delta, none), [&](NodeId node) {
    const ClassId id =
        from_child ? egraph.children(node)[next.via - root.first_child] : egraph.class_of(node);
    const bool has_some = (egraph.mask(id) & EGraph::mask_bit(next.base)) != 0;
    return has_some ? egraph.nodes(id).size() : 0;
  });
}

PlanChoice cheapest_plan(const EGraph& egraph, const ConstantClasses& constants,
                         const SearchTrie& trie, std::uint32_t pattern) {
  PlanChoice best;
  for (const SearchTrie::Plan& plan : trie.full_plans(pattern)) {
    const std::uint64_t cost = plan_cost(egraph, constants, trie, plan, nullptr);
    if (best.plan == nullptr || cost < best.cost) best = {&plan, cost};
  }
  return best;
}

}  // namespace egret::egraph
