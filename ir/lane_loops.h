// SPDX-License-Identifier: Apache-2.0
// The loops over lanes that operations are made of, on reals (double) and integers (int64).
#pragma once

#include <cstdint>

#include "ir/integer_arithmetic.h"
#include "ir/real_arithmetic.h"

namespace egret::ir {

// out[l] = apply(a, b) for l in [low, high), where an operand without lanes is one number.
template <typename Out, typename Operand, typename Apply>
void apply_lanes(const Operand& a, const Operand& b, std::int64_t low, std::int64_t high, Out* out,
                 const Apply& apply) {
  if (a.lanes != nullptr && b.lanes != nullptr) {
    for (std::int64_t l = low; l < high; ++l) out[l] = apply(a.lanes[l], b.lanes[l]);
  } else if (a.lanes != nullptr) {
    for (std::int64_t l = low; l < high; ++l) out[l] = apply(a.lanes[l], b.value);
  } else if (b.lanes != nullptr) {
    for (std::int64_t l = low; l < high; ++l) out[l] = apply(a.value, b.lanes[l]);
  } else {
    for (std::int64_t l = low; l < high; ++l) out[l] = apply(a.value, b.value);
  }
}

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

// apply(operation) for the element operation that a sum, product, maximum or minimum folds with.
template <typename T, typename Apply>
void with_fold(Reduction reduction, const ElementOps<T>& ops, const Apply& apply) {
  switch (reduction) {
    case Reduction::kSum: return apply([](T a, T b) { return ElementOps<T>::add(a, b); });
    case Reduction::kProd: return apply([](T a, T b) { return ElementOps<T>::mul(a, b); });
    case Reduction::kMax: return apply([ops](T a, T b) { return ops.max(a, b); });
    case Reduction::kMin: return apply([ops](T a, T b) { return ops.min(a, b); });
  }
}

inline bool needs_wrapping(DType type) {
  return type != DType::kF64 && type != DType::kI64 && type != DType::kU64;
}

}  // namespace egret::ir
