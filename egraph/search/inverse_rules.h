// SPDX-License-Identifier: Apache-2.0
// Detects inverse rules, and uses the end of one to skip the search of the other.
//
// Let a rule be L => R and its inverse R => L, both linear terms without conditions. On an e-graph
// closed under congruence, a match is a substitution s for which the term exists. Once the first
// rule adds nothing new, R[s] exists for every match s of L, in the class of L[s]. Hence the
// matches of L are a subset of those of R. If both sets have the same size, they are equal, and the
// inverse adds nothing either. The matches of a linear term can be counted without enumeration: the
// count of a node is the product of the counts of its children's classes.
//
// Associativity is the important case: most of a run to saturation goes into matches of one
// direction that repeat the results of the other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "egraph/core/egraph.h"
#include "egraph/core/pattern.h"
#include "egraph/search/rewrite.h"

namespace egret::egraph {

// For each rule, the first rule that undoes it, or its own number. Considered are plain rules L =>
// R over linear terms of the same variables, where neither side is a single variable; plain means
// without callbacks and captured operators. The content of rules decides, not their names. A rule
// may undo itself, as commutativity does; the result is then its own number, as for a rule without
// inverse. O(rules * log(rules)).
std::vector<std::uint32_t> inverse_rules(std::span<const Rewrite> rules);

// The number of matches of a pattern that is one linear term, on a clean e-graph; empty if it
// exceeds 64 bits. O(nodes of the pattern's operators), each counted once per occurrence of its
// operator in the pattern.
std::optional<std::uint64_t> count_matches(const EGraph& egraph, const Pattern& pattern);

}  // namespace egret::egraph
