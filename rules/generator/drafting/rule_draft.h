// SPDX-License-Identifier: Apache-2.0
// The draft of a rule from two equal terms, before anything is proven: its two sides, and the facts
// from which its conditions may be chosen (rules/generator/candidate_rule.h).
#pragma once

#include <optional>
#include <vector>

#include "rules/generator/drafting/openness.h"
#include "rules/generator/spaces/enumeration.h"
#include "rules/language/rule.h"

namespace egret::rules::generator {

struct Draft {
  Rule rule;  // its only conditions are ranks, unless they are open
  // Facts that hold in all worlds. Of each attribute variable, the equations that determine it.
  std::vector<std::vector<Expr>> alternatives;
  std::vector<Expr> facts;  // sizes that agree
  // Lists that only other lists determine: their values in the first world.
  std::vector<Expr> first_world;
  std::vector<Expr> same_types;  // of variables whose start tensors have one type
  // Open axes of the left side that differ.
  std::vector<Expr> apart;
  // is_float(?x) of the first variable, if there is one: division of integers truncates.
  std::optional<Expr> is_float;
};

// The rule left => right. nullopt when the left side is a variable, or does not determine the
// right: a variable, or an attribute without a simple expression.
std::optional<Draft> draft_rule(TermTable& terms, const Equality& equality, Openness openness,
                                Preference preference);

}  // namespace egret::rules::generator
