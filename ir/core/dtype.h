// SPDX-License-Identifier: Apache-2.0
// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace egret::ir {

enum class DType : std::uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool
};

inline constexpr int kDTypeCount = 13;

std::size_t byte_size(DType type);
bool is_float(DType type);
bool is_integer(DType type);  // signed or unsigned, not bool
bool is_signed_integer(DType type);
int bit_width(DType type);  // of its storage; bool: 8

// "f32", "bf16", "i64", "bool", ...
std::string_view to_string(DType type);
std::optional<DType> parse_dtype(std::string_view text);

// IEEE half and bfloat16 to and from float; narrowing rounds to nearest even.
float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);

}  // namespace egret::ir
