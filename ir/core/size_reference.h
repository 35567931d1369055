// SPDX-License-Identifier: Apache-2.0
// Target sizes in an attribute of reshape and broadcast: a size, or a reference that stays
// meaningful while the input's sizes are symbolic.
//
//   n >= 0   the size n
//   -1       what the other sizes leave (reshape; at most once)
//   -2 - k   the size of the input's axis k
//
// In a SymbolicScope for all values, the integers that stand for sizes take the place of
// references. Over concrete input sizes, resolved_target() replaces every reference by its size.
// This normal form makes equal reshapes equal operators.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "ir/core/attributes.h"
#include "ir/core/tensor_type.h"

namespace egret::ir {

inline constexpr std::int64_t kInferredSize = -1;
constexpr std::int64_t size_of_axis(int axis) { return -2 - std::int64_t{axis}; }
constexpr bool refers_to_axis(std::int64_t target) { return target <= -2; }
constexpr int referred_axis(std::int64_t target) { return static_cast<int>(-2 - target); }

// The size of axis `axis` of `type` as a target: a number when it is known.
std::int64_t target_of_axis(const TensorType& type, int axis);
// One target for the product of axes [begin, end): a number, a reference when the others are 1,
// else kInferredSize.
std::int64_t target_of_axes(const TensorType& type, int begin, int end);

// The sizes that `target` means over an input of this type.
// Errors: a reference to no axis, two inferred sizes, sizes that do not divide.
base::Result<Dims> target_dims(const TensorType& input, const Integers& target);
// `target` with every size that is known for this input written as a number. Targets that
// target_dims() refuses are returned as they are.
Integers resolved_target(const TensorType& input, Integers target);

}  // namespace egret::ir
