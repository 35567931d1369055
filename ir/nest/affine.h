// SPDX-License-Identifier: Apache-2.0
// Affine forms: constant + sum of factor * symbol. Symbols are the loop variables of one loop nest
// and its index expressions that are not affine. Arithmetic wraps; ranges saturate.
#pragma once

#include <cstdint>

#include "base/small_vector.h"

namespace egret::ir {

struct Affine {
  struct Part {
    int symbol;
    std::int64_t factor;  // not 0
    friend bool operator==(const Part&, const Part&) = default;
  };

  Affine() = default;
  Affine(std::int64_t value) : constant(value) {}  // NOLINT: implicit on purpose
  static Affine of_symbol(int symbol) {
    Affine result;
    result.parts.push_back({symbol, 1});
    return result;
  }

  bool is_constant() const { return parts.empty(); }
  std::int64_t factor(int symbol) const;  // 0 when it does not occur

  std::int64_t constant = 0;
  base::SmallVector<Part, 4> parts{};  // by ascending symbol

  friend bool operator==(const Affine&, const Affine&) = default;
};

Affine operator+(const Affine& a, const Affine& b);
Affine operator-(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, std::int64_t factor);

// Closed interval.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
Range operator+(Range a, Range b);
Range operator*(Range a, std::int64_t factor);
Range operator*(Range a, Range b);

}  // namespace egret::ir
