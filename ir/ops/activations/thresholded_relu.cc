// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator thresholded_relu() {
  return primitive("thresholded_relu", "x where x > alpha, else 0", {"x"})
      .attr("alpha", 1.0, "the threshold")
      .defined_by([](Definition& d) {
        if (!require_float(d)) return;
        const Scalar alpha = d.real("alpha");
        d.pointwise([&](Scalar x) { return select(less(alpha, x), x, 0); });
      })
      .onnx("ThresholdedRelu", 10);
}

}  // namespace egret::ir::ops
