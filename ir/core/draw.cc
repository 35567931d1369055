// SPDX-License-Identifier: Apache-2.0
#include "ir/core/draw.h"

#include <cmath>
#include <cstdint>
#include <utility>

namespace egret::ir {

Draw usual_draw(DType dtype) {
  if (is_float(dtype)) return {-1, 1};
  return {0, dtype == DType::kBool ? 1.0 : 10.0};
}

Tensor drawn(TensorType type, const Draw& draw, base::Random& random) {
  Tensor result(std::move(type));
  const auto low = static_cast<std::int64_t>(std::ceil(draw.low));
  const auto high = static_cast<std::int64_t>(std::floor(draw.high));
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    if (is_float(result.dtype())) {
      result.set_f64(i, random.uniform(draw.low, draw.high));
      continue;
    }
    std::int64_t value = random.between(low, high);
    while (value == 0 && !draw.zero) value = random.between(low, high);
    result.set_i64(i, value);
  }
  return result;
}

}  // namespace egret::ir
