// SPDX-License-Identifier: Apache-2.0
// A rule made of two equal terms, before anything is proven: what becomes a variable, what stays as
// it is, and what is known of it.
#pragma once

#include <optional>
#include <vector>

#include "rules/generator/spaces/enumeration.h"
#include "rules/language/rule.h"

namespace egret::rules::generator {

// What stays open in a rule made of terms.
enum class Openness : std::uint8_t {
  kRanks,       // ranks and attributes
  kAttributes,  // attributes; ranks as in the terms
  kSizes,       // attributes that are sizes, not axes, permutations and flags
};

// What a number of the right side is taken for where several expressions have its value.
enum class Preference : std::uint8_t {
  kAttributes,  // attributes of the left side, which are open
  kSizes,
};

struct Draft {
  Rule rule;  // without conditions, other than ranks and element types
  // True in all worlds. Of attributes, the ways to say what each is; then how sizes compare.
  std::vector<std::vector<Expr>> alternatives;
  std::vector<Expr> facts;
  // Lists of the left side of which only other lists tell what they are, as in the first world.
  std::vector<Expr> first_world;
  std::vector<Expr> same_types;  // of variables whose start tensors are of one type
  // Of open axes: those of the left side that differ do so in every instance.
  std::vector<Expr> apart;
  // Of the first variable, if there is one: quotients of integers are truncated.
  std::optional<Expr> is_float;
};

// The rule left => right; nullopt when the right side needs what the left does not tell: a
// variable, or a number that is no simple expression.
std::optional<Draft> draft_rule(TermTable& terms, const Equality& equality, Openness openness,
                                Preference preference);

}  // namespace egret::rules::generator
