// SPDX-License-Identifier: Apache-2.0
// Constants that computations count on to round: (x + c) - c is x rounded to an integer where c is
// so large that a sum with it keeps no fraction.
#pragma once

#include <cstdint>

#include "ir/core/tensor.h"

namespace egret::ir {

enum class ConstantSize : std::uint8_t {
  kUsual,
  kLarge,  // sums with it keep no fraction of the other operand
  kTiny,   // its inverse is large
};

// kUsual for types other than f32 and f64, and for numbers that are not finite.
ConstantSize constant_size(DType type, double value);

// What all elements are; kUsual where they differ, where there are none, and where there are more
// than 2^16.
ConstantSize constant_size(const Tensor& constant);

}  // namespace egret::ir
