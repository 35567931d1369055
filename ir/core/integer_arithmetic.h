// SPDX-License-Identifier: Apache-2.0
// Two's complement arithmetic of any integer element type on 64-bit carriers. A value of type T is
// held sign- or zero-extended in an int64; a u64 keeps its bits. Nothing here overflows undefined.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/core/dtype.h"

namespace egret::ir {

inline std::int64_t wrap(DType type, std::int64_t value) {
  switch (type) {
    case DType::kI8: return static_cast<std::int8_t>(value);
    case DType::kI16: return static_cast<std::int16_t>(value);
    case DType::kI32: return static_cast<std::int32_t>(value);
    case DType::kU8: return static_cast<std::uint8_t>(value);
    case DType::kU16: return static_cast<std::uint16_t>(value);
    case DType::kU32: return static_cast<std::uint32_t>(value);
    case DType::kBool: return value != 0 ? 1 : 0;
    default: return value;
  }
}

inline std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapping_sub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapping_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Truncating quotient; b is not 0.
inline std::int64_t truncating_div(DType type, std::int64_t a, std::int64_t b) {
  if (type == DType::kU64) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) / static_cast<std::uint64_t>(b));
  }
  return b == -1 ? wrapping_sub(0, a) : a / b;
}

inline bool integer_less(DType type, std::int64_t a, std::int64_t b) {
  return type == DType::kU64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b)
                             : a < b;
}

inline std::int64_t lowest_integer(DType type) {
  if (!is_signed_integer(type)) return 0;
  return std::numeric_limits<std::int64_t>::min() >> (64 - bit_width(type));
}
inline std::int64_t highest_integer(DType type) {
  if (type == DType::kBool) return 1;
  if (type == DType::kU64) return -1;  // all bits
  if (is_signed_integer(type)) {
    return std::numeric_limits<std::int64_t>::max() >> (64 - bit_width(type));
  }
  return (std::int64_t{1} << bit_width(type)) - 1;
}

inline double integer_to_real(DType type, std::int64_t value) {
  return type == DType::kU64 ? static_cast<double>(static_cast<std::uint64_t>(value))
                             : static_cast<double>(value);
}

// Truncates; NaN is 0; saturates to 64 bits (2^63 up to 2^64 keep their u64 bits), then wraps.
// Bool tests against 0. The same as Tensor::set_f64().
inline std::int64_t real_to_integer(DType type, double value) {
  if (type == DType::kBool) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  std::int64_t wide = 0;
  if (value >= 0x1p63) {
    wide = value < 0x1p64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(value))
                          : std::numeric_limits<std::int64_t>::max();
  } else {
    wide = value < -0x1p63 ? std::numeric_limits<std::int64_t>::min()
                           : static_cast<std::int64_t>(value);
  }
  return wrap(type, wide);
}

inline std::int64_t euclidean_div(std::int64_t a, std::int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

}  // namespace egret::ir
