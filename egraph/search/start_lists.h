// SPDX-License-Identifier: Apache-2.0
// The start lists of a SearchTrie's plans in an e-graph, and cost estimates to choose a plan.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "egraph/core/delta.h"
#include "egraph/core/egraph.h"
#include "egraph/search/search_trie.h"
#include "egraph/search/trie_walk.h"

namespace egret::egraph {

// All starts of the trie's expansion `root`. With a delta, only new starts (only for roots of
// incremental plans: operators, or all classes). The results are views of the e-graph's lists and
// of lists appended to `made`.
std::vector<TrieWalk::Start> starts_of(const EGraph& egraph, const ConstantClasses& constants,
                                       const SearchTrie::Expansion& root, const Delta* delta,
                                       std::deque<std::vector<NodeId>>& made);

// The first child of the plan's first atom from which the plan does not continue: it continues from
// other children or from the atom's class. Empty if there is no such child or no other atom.
std::optional<std::size_t> leaf_child(const SearchTrie& trie, const SearchTrie::Plan& plan);
// The nodes stably sorted by this child's class. O(nodes + ids).
std::vector<NodeId> gathered(const EGraph& egraph, std::span<const NodeId> nodes,
                             std::size_t child);
// Whether the nodes are many, both absolutely and relative to the ids.
bool is_worth_gathering(const EGraph& egraph, std::span<const NodeId> nodes);

// The estimated cost of a plan in visited nodes: its starts and the parents visited from there.
// O(operators of its base).
std::uint64_t plan_cost(const EGraph& egraph, const ConstantClasses& constants,
                        const SearchTrie& trie, const SearchTrie::Plan& plan, const Delta* delta);
// The estimated number of nodes visited in the classes of the starts or of their children, if the
// plan continues there.
std::uint64_t descent_cost(const EGraph& egraph, const ConstantClasses& constants,
                           const SearchTrie& trie, const SearchTrie::Plan& plan,
                           const Delta* delta);

// The cheapest full plan, and its cost.
struct PlanChoice {
  const SearchTrie::Plan* plan = nullptr;
  std::uint64_t cost = 0;
};
PlanChoice cheapest_plan(const EGraph& egraph, const ConstantClasses& constants,
                         const SearchTrie& trie, std::uint32_t pattern);

}  // namespace egret::egraph
