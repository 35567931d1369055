// SPDX-License-Identifier: Apache-2.0
// Rules that undo each other, and how the end of one saves the search of the other.
//
// Let a rule say L => R and its inverse R => L, both linear terms without conditions. On an e-graph
// closed under congruence a match is a substitution s of the variables for which the term is there.
// Once the first rule has nothing left to say, R[s] is there for every match s of L, in the class
// of L[s]: the matches of L are among those of R. So if both are *as many*, they are the same, and
// the inverse has nothing to say either. Matches of a linear term need not be enumerated to be
// counted: a node has as many as the product of those of its children's classes.
//
// Associativity is the case that matters: most of a run to saturation goes into matches of one
// direction that say what the other has said.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "egraph/core/egraph.h"
#include "egraph/core/pattern.h"
#include "egraph/search/rewrite.h"

namespace egret::egraph {

// For each rule the first one that undoes it, or its own number: of those that are L => R with
// linear terms of the same variables, neither a variable alone, without callbacks and captured
// operators. What rules say decides, not their names. A rule may undo itself, as commutativity
// does; its own number is then no different from that of a rule without inverse. O(rules, by the
// logarithm of their number).
std::vector<std::uint32_t> inverse_rules(std::span<const Rewrite> rules);

// The number of matches of a pattern that is one linear term, as those of rules that have an
// inverse are, on a clean e-graph; nothing if it does not fit into 64 bits. O(nodes of its
// operators, each as often as the operator occurs in it).
std::optional<std::uint64_t> count_matches(const EGraph& egraph, const Pattern& pattern);

}  // namespace egret::egraph
