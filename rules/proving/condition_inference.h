// SPDX-License-Identifier: Apache-2.0
// A condition under which a refuted rule is true.
//
// Random instances are labelled by running both sides on random tensors. Of the atoms over the
// rule's integers (sizes, attributes, what `let` computes: a == b, a == 0, a == 1) those that hold
// for most of the equal instances are kept: small windows that read little but padding are
// equal by chance. The smallest conjunction of them that no unequal instance satisfies is proven
// (rules/proving/verification.h). Fresh instances that do not satisfy it are then labelled: if all
// are unequal, no weaker condition is true of them. So the condition is proven to suffice, and
// tested to be the weakest; where it is not, larger conjunctions are tried for one that excludes
// less. Labelled examples: Padhi, Sharma, Millstein (PLDI 2016); a fixed set of atoms: Flanagan,
// Leino (Houdini, FME 2001).
//
// Instances with an element of the left side that is 0 or undefined on all tensors tried, and those
// of truth values, say nothing. Deterministic for a seed.
#pragma once

#include <optional>
#include <string>

#include "rules/proving/verification.h"

namespace egret::rules {

struct InferredCondition {
  std::string text;       // dim(?v, 0) == dim(?w, 0)
  Rule rule;              // with the condition
  Verdict verdict;        // of that rule: proven, or what came of the best candidate
  int outside = 0;        // instances that do not satisfy it
  int outside_equal = 0;  // of these, those whose sides were equal on all tensors
  bool is_weakest() const { return outside > 0 && outside_equal == 0; }  // tested
};

// nullopt when no conjunction separates the instances, or too few were found.
std::optional<InferredCondition> infer_condition(const Rule& rule, const VerifyOptions& options,
                                                 KnownOperators& known);

}  // namespace egret::rules
