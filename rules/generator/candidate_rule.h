// SPDX-License-Identifier: Apache-2.0
// From two equal terms at concrete sizes to a rule. Start tensors become pattern variables; equal
// attributes become one attribute variable; what the right side needs and the left does not have is
// written as an expression of sizes and attributes that has the right value in every world.
//
// How general a rule may be is tried from the top: open ranks and attributes without a condition,
// then fixed ranks, then fixed axes and permutations, then with what is true in all worlds as a
// condition, from which everything is dropped that the proof does without
// (rules/proving/verification.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rules/generator/candidate_proof.h"
#include "rules/generator/spaces/enumeration.h"
#include "rules/language/rule.h"

namespace egret::rules::generator {

struct Generalized {
  Rule rule;
  Verdict verdict;
  bool conditional = false;  // holds under conditions on sizes and attributes
  double cpu_seconds = 0;    // that it took
};

// The most general rule found that is proven; otherwise the verdict on the most special one.
// nullopt when no rule can be stated.
std::optional<Generalized> generalize_equality(TermTable& terms, const Equality& equality,
                                               const CandidateScrutiny& scrutiny,
                                               KnownOperators& known);

// Both sides of each over the terms' variables in a world: outputs left, right, left, right, ...
ir::Graph sides_in_world(TermTable& terms, std::span<const Equality> equalities, World world);

}  // namespace egret::rules::generator
