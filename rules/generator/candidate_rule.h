// SPDX-License-Identifier: Apache-2.0
// From two equal terms at concrete sizes to a rule. Start tensors become pattern variables; equal
// attributes become one attribute variable; what the right side needs and the left does not have is
// written as an expression of sizes and attributes that has the right value in every world.
//
// How general a rule may be is tried from the top: open ranks and attributes without a condition,
// then fixed ranks, then fixed axes and permutations, then with what is true in all worlds as a
// condition, from which everything is dropped that the proof does without (rules/verification.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rules/generator/enumeration.h"
#include "rules/rule.h"
#include "rules/verification.h"

namespace egret::rules::generator {

// What stays open in a rule made of terms.
enum class Openness : std::uint8_t {
  kRanks,       // ranks and attributes
  kAttributes,  // attributes; ranks as in the terms
  kSizes,       // attributes that are sizes, not axes, permutations and flags
};

struct Draft {
  Rule rule;  // without conditions, other than ranks and element types
  // True in all worlds. Of attributes, the ways to say what each is; then how sizes compare.
  std::vector<std::vector<Expr>> alternatives;
  std::vector<Expr> facts;
  // Of the first variable, if there is one: quotients of integers are truncated.
  std::optional<Expr> is_float;
};

// The rule left => right; nullopt when the right side needs what the left does not tell: a
// variable, or a number that is no simple expression.
std::optional<Draft> draft_rule(TermTable& terms, const Equality& equality, Openness openness);

struct Generalized {
  Rule rule;
  Verdict verdict;
  bool conditional = false;  // holds under conditions on sizes and attributes
  int proofs = 0;            // tried
};

// The most general rule found that is proven; otherwise the verdict on the most special one.
// nullopt when no rule can be stated.
std::optional<Generalized> generalize_equality(TermTable& terms, const Equality& equality,
                                               const VerifyOptions& options,
                                               KnownSignatures& known);

// Both sides of each over the terms' variables in a world: outputs left, right, left, right, ...
ir::Graph sides_in_world(TermTable& terms, std::span<const Equality> equalities, World world);

}  // namespace egret::rules::generator
