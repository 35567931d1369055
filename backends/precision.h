// SPDX-License-Identifier: Apache-2.0
// The precision of products and convolutions of f32, where a device has faster units. Their inputs
// are rounded; sums are f32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace egret::backends {

enum class Precision : std::uint8_t {
  kF32,
  kTF32,  // 10 bits of a mantissa in place of 23
  kBF16,  // 7
  kF16,   // 10, and a smaller range
};

// The element types of the two operands that one product or convolution reads.
enum class OperandForm : std::uint8_t { kF32, kBF16, kI8 };
inline constexpr std::size_t kOperandForms = 3;
std::string_view to_string(OperandForm form);  // "f32", "bf16", "int8"

// Half a unit in the last place.
constexpr double roundoff(Precision precision) {
  return precision == Precision::kF32 ? 0x1p-24 : precision == Precision::kBF16 ? 0x1p-8 : 0x1p-11;
}

// "f32", "tf32", "bf16", "f16": as options and fingerprints say it.
std::string_view to_string(Precision precision);
// All of them.
std::vector<std::string> precision_names();
// The precision of that name; f32 for any other name, which option tables reject before.
Precision precision_named(std::string_view name);

}  // namespace egret::backends
