// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/near_values.h"

#include <cmath>

#include "driver/measure/output_errors.h"

namespace egret::driver {

bool are_near(const ir::Tensor& a, const ir::Tensor& b, double relative) {
  const bool are_real = ir::is_float(a.dtype()) && ir::is_float(b.dtype());
  if (a.shape() != b.shape() || (a.dtype() != b.dtype() && !are_real)) return false;
  const double bound = are_real ? relative * magnitude(a) : 0;
  OutputError error{.output = "", .bound = bound};
  compare_reals(a, b, error);
  return error.wrong == 0;
}

NearKey near_key(const ir::Tensor& value, int shift) {
  double sum = 0;
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    if (std::isfinite(value.f64_at(i))) sum += std::abs(value.f64_at(i));
  }
  const double logarithm = sum > 0 ? 100 * std::log(sum) : -1e6;
  ir::TensorType type = value.type();
  if (ir::is_float(type.dtype)) type.dtype = ir::DType::kF64;
  return {ir::to_string(type), static_cast<std::int64_t>(std::floor(logarithm)) + shift};
}

}  // namespace egret::driver
