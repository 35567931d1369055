// SPDX-License-Identifier: Apache-2.0
// Operators that decide: where a change of a real operand, however small, can change the result by
// a whole step (rounding to integers, comparing, casting to an integer, the position of a maximum).
//
// Who evaluates such an operator must do so on the values that the model would have, rounding
// included; more accurate ones can come out on the other side of the step.
#pragma once

#include <span>

#include "ir/graph/operator.h"

namespace egret::rules {

// Whether an operator decides on real operands. Composites do where their body does. Types are
// concrete and fit the operator. Never wrongly false; true too where both sides of a comparison
// meet (leaky_relu).
bool has_jumps(const ir::Operator& op, const ir::Attrs& attrs,
               std::span<const ir::TensorType> inputs);

// Whether what an operator computes may need more digits than f32 has: false where it only moves,
// compares or selects elements of at most f32, or numbers that f32 has. Composites round where
// their body does. Never wrongly false.
bool rounds(const ir::Operator& op, const ir::Attrs& attrs, std::span<const ir::TensorType> inputs);

}  // namespace egret::rules
