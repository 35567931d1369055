// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator is_inf() {
  return primitive("is_inf", "Whether x is infinite, as bool", {"x"})
      .attr("detect_negative", std::int64_t{1}, "1: minus infinity counts")
      .attr("detect_positive", std::int64_t{1}, "1: plus infinity counts")
      .defined_by([](Definition& d) {
        if (!require_float(d)) return;
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        d.pointwise_as(DType::kBool, [&](std::span<const Scalar> x) {
          Guard found = false;
          if (d.flag("detect_positive")) found = found || equal(x[0], kInfinity);
          if (d.flag("detect_negative")) found = found || equal(x[0], -kInfinity);
          return scalar_of(found);
        });
      })
      .onnx("IsInf", 10);
}

}  // namespace egret::ir::ops
