// SPDX-License-Identifier: Apache-2.0
// Where a plan of a SearchTrie may begin in an e-graph: which lists, how long, and so which plan is
// the cheapest.
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

// All starts of the trie's expansion `root`; with a delta, those that are new. (New starts are
// asked for roots of incremental plans only: operators, or all classes.) They are views of the
// e-graph's lists and of those that are appended to `made`.
std::vector<TrieWalk::Start> starts_of(const EGraph& egraph, const ConstantClasses& constants,
                                       const SearchTrie::Expansion& root, const Delta* delta,
                                       std::deque<std::vector<NodeId>>& made);

// The first child of the plan's first atom from which nothing else is drawn: the plan goes on from
// the others, or from the atom's class. None if there is no such child or no other atom.
std::optional<std::size_t> leaf_child(const SearchTrie& trie, const SearchTrie::Plan& plan);
// The nodes in order of this child, and as they were where that is the same. O(nodes + ids).
std::vector<NodeId> gathered(const EGraph& egraph, std::span<const NodeId> nodes,
                             std::size_t child);
// They are many, and not few beside the ids.
bool is_worth_gathering(const EGraph& egraph, std::span<const NodeId> nodes);

// What a search with this plan is expected to cost, in nodes looked at: its starts, and what it
// climbs to from there. O(operators of its base).
std::uint64_t plan_cost(const EGraph& egraph, const ConstantClasses& constants,
                        const SearchTrie& trie, const SearchTrie::Plan& plan, const Delta* delta);
// And what it draws from the classes of its starts or of their children, where it goes on there.
std::uint64_t descent_cost(const EGraph& egraph, const ConstantClasses& constants,
                           const SearchTrie& trie, const SearchTrie::Plan& plan,
                           const Delta* delta);

// The cheapest of the plans of which each finds all matches, and its cost.
struct PlanChoice {
  const SearchTrie::Plan* plan = nullptr;
  std::uint64_t cost = 0;
};
PlanChoice cheapest_plan(const EGraph& egraph, const ConstantClasses& constants,
                         const SearchTrie& trie, std::uint32_t pattern);

}  // namespace egret::egraph
