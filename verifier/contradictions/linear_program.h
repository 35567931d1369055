// SPDX-License-Identifier: Apache-2.0
// Whether facts about linear unknowns contradict each other, by the simplex method in exact
// numbers (Dantzig 1951; Bland's rule ends it, 1977). The answer is a sum of facts that is a
// contradiction, or a point at which all facts hold (Farkas' lemma). Its results are checked by
// others.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "verifier/contradictions/query_atoms.h"

namespace egret::verifier {

// By fact; equations may have factors of both signs, other facts have none below 0.
using FarkasFactors = std::vector<ExactRational>;
// By product of unknowns; others are 0.
using LinearPoint = std::map<QueryProduct, ExactRational>;

// Products of unknowns count as unknowns. nullopt: numbers beyond 64 bits, or more pivots than the
// limit. O(rows * columns) a pivot.
std::optional<std::variant<FarkasFactors, LinearPoint>> solve_linear(
    const std::vector<QueryFact>& facts, std::size_t most_pivots = 2000);

}  // namespace egret::verifier
