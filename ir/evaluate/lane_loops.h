// SPDX-License-Identifier: Apache-2.0
// Loops over lanes, on reals (double) and integers (int64).
#pragma once

#include <cstdint>

#include "ir/core/element_ops.h"

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
