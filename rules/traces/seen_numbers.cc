// SPDX-License-Identifier: Apache-2.0
#include "rules/traces/seen_numbers.h"

#include <algorithm>

#include "ir/core/integer_arithmetic.h"

namespace egret::rules {
namespace {

// Whether a whole number is one of an integer type.
bool is_of_type(double number, ir::DType dtype) {
  const auto whole = static_cast<std::int64_t>(number);
  return !ir::is_integer(dtype) ||
         (whole >= ir::lowest_integer(dtype) &&
          (dtype == ir::DType::kU64 || whole <= ir::highest_integer(dtype)));
}

}  // namespace

bool SeenNumbers::note(const Instance& instance) {
  bool is_new = false;
  for (std::size_t i = 0; i < instance.splats.size(); ++i) {
    const ir::Node& input = instance.left.node(instance.left.inputs()[i]);
    if (instance.splats[i] && decisions_.finite.contains(input.name))
      is_new = seen_[{input.name, input.type.dtype}].insert(*instance.splats[i]).second || is_new;
  }
  return is_new;
}

// Whether the constant was each of the numbers that its type has, in each type that it had.
bool SeenNumbers::has_seen(const std::string& name, std::span<const double> numbers) const {
  bool some = false;
  for (const auto& [at, seen] : seen_) {
    if (at.first != name) continue;
    some = true;
    for (const double number : numbers) {
      if (is_of_type(number, at.second) && !seen.contains(number)) return false;
    }
  }
  return some;
}

std::string SeenNumbers::open_number() const {
  for (const std::string& number : decisions_.of) {
    const bool all_seen = std::ranges::any_of(decisions_.finite, [&](const auto& finite) {
      return number == "splat_of(" + finite.first + ")" && has_seen(finite.first, finite.second);
    });
    if (!all_seen) return number;
  }
  return "";
}

}  // namespace egret::rules
