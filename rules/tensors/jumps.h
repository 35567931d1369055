// SPDX-License-Identifier: Apache-2.0
// Operators that decide: an arbitrarily small change of a real operand can change the result by a
// whole step (rounding to integers, comparisons, casts to integers, the position of a maximum).
//
// Such an operator must be evaluated on the values that the model would have, including rounding.
// More accurate values may fall on the other side of the step.
#pragma once

#include <span>

#include "ir/graph/operator.h"

namespace egret::rules {

// Whether an operator decides on real operands. A composite decides if its body does. Types are
// concrete and fit the operator. Conservative: never wrongly false, but also true where both sides
// of a comparison agree at the step (leaky_relu).
bool has_jumps(const ir::Operator& op, const ir::Attrs& attrs,
               std::span<const ir::TensorType> inputs);

// Whether an operator's result may need more digits than f32 has. False if it only moves, compares
// or selects elements of at most f32, or numbers that are exact in f32. A composite rounds if its
// body does. Never wrongly false.
bool rounds(const ir::Operator& op, const ir::Attrs& attrs, std::span<const ir::TensorType> inputs);

}  // namespace egret::rules
