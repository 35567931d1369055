// SPDX-License-Identifier: Apache-2.0
#include "ir/analysis/large_constants.h"

#include <cmath>

namespace egret::ir {

ConstantSize constant_size(DType type, double value) {
  if (type != DType::kF32 && type != DType::kF64) return ConstantSize::kUsual;
  // Half the numbers with a unit of 1 in the last place.
  const double least = type == DType::kF64 ? 0x1p51 : 0x1p22;
  const double size = std::abs(value);
  if (size >= least && std::isfinite(size)) return ConstantSize::kLarge;
  return size > 0 && size * least <= 1 ? ConstantSize::kTiny : ConstantSize::kUsual;
}

ConstantSize constant_size(const Tensor& constant) {
  constexpr std::int64_t kMostElements = 1 << 16;
  if (constant.elements() == 0 || constant.elements() > kMostElements ||
      !is_float(constant.dtype()))
    return ConstantSize::kUsual;
  const ConstantSize first = constant_size(constant.dtype(), constant.f64_at(0));
  for (std::int64_t i = 1; i < constant.elements() && first != ConstantSize::kUsual; ++i) {
    if (constant_size(constant.dtype(), constant.f64_at(i)) != first) return ConstantSize::kUsual;
  }
  return first;
}

}  // namespace egret::ir
