// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator is_nan() {
  return primitive("is_nan", "Whether x is not a number, as bool", {"x"})
      .defined_by([](Definition& d) {
        if (!require_float(d)) return;
        d.pointwise_as(DType::kBool,
                       [](std::span<const Scalar> x) { return scalar_of(!equal(x[0], x[0])); });
      })
      .onnx("IsNaN", 9);
}

}  // namespace egret::ir::ops
