// SPDX-License-Identifier: Apache-2.0
// Looks for a proof that the assertions of a query contradict each other: case distinctions where
// the facts have a point at which a formula does not hold (as DPLL(T) does: Ganzinger et al., CAV
// 2004), sums of facts by linear programming, and bounds on whole numbers (Land and Doig 1960).
// Products of facts are tried where the query has products of unknowns.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "verifier/contradictions/contradiction_proof.h"

namespace egret::verifier {

struct ContradictionLimits {
  std::size_t cases = 1000;    // linear programs
  std::size_t products = 250;  // of facts, at once
  std::size_t facts = 400;     // at once
};

// A proof that is_contradictory() accepts, from these assertions of the query alone (all places, if
// none are given). Deterministic.
std::optional<ContradictionProof> find_contradiction(const Query& query,
                                                     std::vector<std::uint32_t> assertions,
                                                     const ContradictionLimits& limits = {});

}  // namespace egret::verifier
