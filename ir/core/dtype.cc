// SPDX-License-Identifier: Apache-2.0
#include "ir/core/dtype.h"

#include <array>
#include <bit>

#include "base/check.h"

namespace egret::ir {
namespace {

enum class Kind : std::uint8_t { kFloat, kSigned, kUnsigned, kBool };

struct Row {
  DType type;
  std::string_view name;
  std::uint8_t bytes;
  Kind kind;
};

constexpr std::array<Row, kDTypeCount> kRows = {{
    {DType::kF32, "f32", 4, Kind::kFloat},
    {DType::kF64, "f64", 8, Kind::kFloat},
    {DType::kF16, "f16", 2, Kind::kFloat},
    {DType::kBF16, "bf16", 2, Kind::kFloat},
    {DType::kI8, "i8", 1, Kind::kSigned},
    {DType::kI16, "i16", 2, Kind::kSigned},
    {DType::kI32, "i32", 4, Kind::kSigned},
    {DType::kI64, "i64", 8, Kind::kSigned},
    {DType::kU8, "u8", 1, Kind::kUnsigned},
    {DType::kU16, "u16", 2, Kind::kUnsigned},
    {DType::kU32, "u32", 4, Kind::kUnsigned},
    {DType::kU64, "u64", 8, Kind::kUnsigned},
    {DType::kBool, "bool", 1, Kind::kBool},
}};

const Row& row(DType type) {
  const Row& found = kRows[static_cast<std::size_t>(type)];
  EGRET_DCHECK(found.type == type);
  return found;
}

}  // namespace

std::size_t byte_size(DType type) { return row(type).bytes; }
int bit_width(DType type) { return row(type).bytes * 8; }
bool is_float(DType type) { return row(type).kind == Kind::kFloat; }
bool is_signed_integer(DType type) { return row(type).kind == Kind::kSigned; }
bool is_integer(DType type) { return is_signed_integer(type) || row(type).kind == Kind::kUnsigned; }
std::string_view to_string(DType type) { return row(type).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (const Row& candidate : kRows) {
    if (candidate.name == text) return candidate.type;
  }
  return std::nullopt;
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return sign | 0x7e00U;   // NaN
  if (magnitude >= 0x477ff000U) return sign | 0x7c00U;  // rounds to infinity
  if (magnitude < 0x38800000U) {                        // subnormal or zero
    // Adding 0.5 aligns the mantissa so that the hardware rounds to nearest even for us.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U);
  }
  const std::uint32_t rounded = magnitude + 0xfffU + ((magnitude >> 13) & 1U);
  return sign | static_cast<std::uint16_t>((rounded - 0x38000000U) >> 13);
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace egret::ir
