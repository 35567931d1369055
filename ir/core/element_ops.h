// SPDX-License-Identifier: Apache-2.0
// The operations on single elements: reals are double, integers are int64.
#pragma once

#include <cstdint>

#include "ir/core/denotation.h"
#include "ir/core/dtype.h"
#include "ir/core/integer_arithmetic.h"
#include "ir/core/real_arithmetic.h"

namespace egret::ir {

// The binary operations of one type, on single elements. Integers are wrapped by the caller.
template <typename T>
struct ElementOps;

template <>
struct ElementOps<double> {
  explicit ElementOps(DType) {}
  static double add(double a, double b) { return a + b; }
  static double sub(double a, double b) { return a - b; }
  static double mul(double a, double b) { return a * b; }
  double min(double a, double b) const { return real_min(a, b); }
  double max(double a, double b) const { return real_max(a, b); }
  bool less(double a, double b) const { return a < b; }
  bool less_equal(double a, double b) const { return a <= b; }
  double wrapped(double a) const { return a; }
  static double identity(DType, Reduction reduction) {
    if (reduction == Reduction::kSum) return 0;
    return reduction == Reduction::kProd ? 1 : extremum_of_nothing(reduction);
  }
};

template <>
struct ElementOps<std::int64_t> {
  explicit ElementOps(DType t) : type(t) {}
  static std::int64_t add(std::int64_t a, std::int64_t b) { return wrapping_add(a, b); }
  static std::int64_t sub(std::int64_t a, std::int64_t b) { return wrapping_sub(a, b); }
  static std::int64_t mul(std::int64_t a, std::int64_t b) { return wrapping_mul(a, b); }
  std::int64_t min(std::int64_t a, std::int64_t b) const {
    return integer_less(type, b, a) ? b : a;
  }
  std::int64_t max(std::int64_t a, std::int64_t b) const {
    return integer_less(type, a, b) ? b : a;
  }
  bool less(std::int64_t a, std::int64_t b) const { return integer_less(type, a, b); }
  bool less_equal(std::int64_t a, std::int64_t b) const { return !integer_less(type, b, a); }
  std::int64_t wrapped(std::int64_t a) const { return wrap(type, a); }
  static std::int64_t identity(DType type, Reduction reduction) {
    if (reduction == Reduction::kSum) return 0;
    if (reduction == Reduction::kProd) return 1;
    return reduction == Reduction::kMax ? lowest_integer(type) : highest_integer(type);
  }
  DType type;
};

}  // namespace egret::ir
