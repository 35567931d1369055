// SPDX-License-Identifier: Apache-2.0
// Where a plan of a SearchTrie may begin in an e-graph: which lists, how long, and so which plan is
// the cheapest.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "egraph/delta.h"
#include "egraph/egraph.h"
#include "egraph/search_trie.h"
#include "egraph/trie_walk.h"

namespace egret::egraph {

// All starts of the trie's expansion `root`; with a delta, those that are new. (New starts are
// asked for roots of incremental plans only: operators, or all classes.) They are views of the
// e-graph's lists and of those that are appended to `made`.
std::vector<TrieWalk::Start> starts_of(const EGraph& egraph, const ConstantClasses& constants,
                                       const SearchTrie::Expansion& root, const Delta* delta,
                                       std::deque<std::vector<NodeId>>& made);

// What a search with this plan is expected to cost, in nodes looked at. O(operators of its base).
std::uint64_t plan_cost(const EGraph& egraph, const ConstantClasses& constants,
                        const SearchTrie& trie, const SearchTrie::Plan& plan, const Delta* delta);

// The cheapest of the plans of which each finds all matches, and its cost.
struct PlanChoice {
  const SearchTrie::Plan* plan = nullptr;
  std::uint64_t cost = 0;
};
PlanChoice cheapest_plan(const EGraph& egraph, const ConstantClasses& constants,
                         const SearchTrie& trie, std::uint32_t pattern);

}  // namespace egret::egraph
