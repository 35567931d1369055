// SPDX-License-Identifier: Apache-2.0
// Infers a condition under which a refuted rule holds.
//
// Random instances are labelled by running both sides on random tensors. Atoms are equations,
// inequalities and divisibilities over the rule's integers (rules/proving/condition_atoms.h). Only
// atoms that hold for most of the equal instances are kept, not all, because some instances are
// equal by chance (small windows that read little but padding). Small conjunctions that no unequal
// instance satisfies are tried, those with the most equal instances and the simplest atoms first:
// instances drawn under them refute most, and are examples for the next search. One that survives
// is proven (rules/proving/verification.h). Fresh instances that violate it are labelled next. If
// all of them are unequal, no weaker condition holds on them. The condition is thus proven to
// suffice and tested to be the weakest. Otherwise the search goes on with these examples.
//
// It is proven to be the weakest if the rule under the negated condition is proven to differ
// everywhere: each family of instances has inputs for which the sides differ at some element
// (Obligation::prove_different()), and the families cover all sizes and attributes.
//
// Learning from labelled examples: Padhi, Sharma, Millstein (PLDI 2016). Refining a candidate by
// its counterexamples: Solar-Lezama et al. (ASPLOS 2006).
//
// Ignored as uninformative: instances with an element of the left side that is 0 or undefined on
// all tensors tried, and instances with truth values. Deterministic for a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rules/proving/verification.h"

namespace egret::rules {

struct InferredCondition {
  std::string text;       // dim(?v, 0) == dim(?w, 0)
  Rule rule;              // with the condition
  Verdict verdict;        // of that rule: proven, or what came of the best candidate
  int outside = 0;        // instances that do not satisfy it
  int outside_equal = 0;  // of these, those whose sides were equal on all tensors
  // How far it is known that the sides differ wherever the condition does not hold: for all
  // instances whose output has elements, with variables of at most `weakest_rank` axes; or for
  // those tested.
  enum class Weakest : std::uint8_t { kUnknown, kTested, kProven };
  Weakest weakest = Weakest::kUnknown;
  int weakest_rank = 0;        // of kProven
  std::string why_not_proven;  // of kTested
};
std::string_view to_string(InferredCondition::Weakest weakest);  // "", "tested", "proven"

// nullopt if no conjunction separates the instances, or too few instances were found.
std::optional<InferredCondition> infer_condition(const Rule& rule, const VerifyOptions& options,
                                                 KnownOperators& known);

}  // namespace egret::rules
