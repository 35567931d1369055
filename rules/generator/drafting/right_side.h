// SPDX-License-Identifier: Apache-2.0
// The right side of a rule: its attributes are expressions over what the left side determines, with
// the right value in every world.
#pragma once

#include <optional>

#include "rules/generator/drafting/left_side.h"
#include "rules/generator/drafting/quantities.h"

namespace egret::rules::generator {

// `term` has no start tensors that the left side does not have. nullopt when an attribute has no
// simple expression.
std::optional<Term> write_right_side(TermTable& terms, TermId term, const LeftSide& left,
                                     const Quantities& quantities);

}  // namespace egret::rules::generator
