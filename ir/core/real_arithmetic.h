// SPDX-License-Identifier: Apache-2.0
// The meaning of min, max and casts on real elements, shared by all f64 evaluators.
#pragma once

#include <cstdint>
#include <limits>

#include "ir/core/denotation.h"
#include "ir/core/dtype.h"

namespace egret::ir {

// The precision in which an evaluation stores f32 elements: kF64 keeps 53 bits ("wide").
enum class Precision : std::uint8_t { kF64, kF32 };

// NaN if either is.
inline double real_max(double a, double b) { return a >= b || a != a ? a : b; }
inline double real_min(double a, double b) { return a <= b || a != a ? a : b; }

// The maximum over no element is -infinity (a pooling window that lies in the padding).
inline double extremum_of_nothing(Reduction reduction) {
  const double infinity = std::numeric_limits<double>::infinity();
  return reduction == Reduction::kMax ? -infinity : infinity;
}

// As stored in and read back from a real type; see ir/evaluate/interpreter.h on wide f32.
inline double round_real(DType type, Precision precision, double value) {
  switch (type) {
    case DType::kF32:
      return precision == Precision::kF32 ? static_cast<double>(static_cast<float>(value)) : value;
    case DType::kF16: return half_to_float(float_to_half(static_cast<float>(value)));
    case DType::kBF16: return bfloat16_to_float(float_to_bfloat16(static_cast<float>(value)));
    default: return value;
  }
}

}  // namespace egret::ir
