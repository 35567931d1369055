// SPDX-License-Identifier: Apache-2.0
// Analysis of index expressions where a variable is cut (parallel/laws/cut_form.h): affine form,
// range, and movement from block to block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace egret::parallel {

// Ranges saturate here: no bound is known. The product of two bounds fits 64 bits.
inline constexpr std::int64_t kFar = std::int64_t{1} << 31;

struct Interval {
  std::int64_t low = -kFar;
  std::int64_t high = kFar;

  bool within(std::int64_t least, std::int64_t most) const { return low >= least && high <= most; }
};

inline std::int64_t bounded(std::int64_t value) { return std::clamp(value, -kFar, kFar); }
inline Interval sum(Interval a, Interval b) {
  const auto add = [](std::int64_t x, std::int64_t y) {
    return x <= -kFar || y <= -kFar ? -kFar : (x >= kFar || y >= kFar ? kFar : bounded(x + y));
  };
  return {add(a.low, b.low), add(a.high, b.high)};
}
inline Interval product(Interval a, Interval b) {
  if (!a.within(-kFar + 1, kFar - 1) || !b.within(-kFar + 1, kFar - 1)) {
    if (a.low == 0 && a.high == 0) return a;
    if (b.low == 0 && b.high == 0) return b;
    return a.low >= 0 && b.low >= 0 ? Interval{bounded(a.low * b.low), kFar} : Interval{};
  }
  const std::int64_t ends[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {bounded(*std::ranges::min_element(ends)), bounded(*std::ranges::max_element(ends))};
}

inline std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && a < 0 ? 1 : 0);
}

// constant + sum of factor * atom. An atom is the number of a variable or of an expression that is
// not affine.
struct Sum {
  std::int64_t constant = 0;
  std::map<int, std::int64_t> factors{};

  void add(const Sum& other, std::int64_t times) {
    constant += other.constant * times;
    for (const auto& [atom, factor] : other.factors) {
      if ((factors[atom] += factor * times) == 0) factors.erase(atom);
    }
  }
  bool is_constant() const { return factors.empty(); }
  std::string text() const {
    std::string result = std::to_string(constant);
    for (const auto& [atom, factor] : factors)
      result += "+" + std::to_string(factor) + "#" + std::to_string(atom);
    return result;
  }
};

// The analysis of an index expression.
struct IndexForm {
  Sum sum;            // for v within its block
  Interval local{};   // range of its values there
  Interval global{};  // range for all v
  std::int64_t moves = 0;
};

}  // namespace egret::parallel
