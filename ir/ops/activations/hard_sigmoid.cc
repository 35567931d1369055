// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator hard_sigmoid() {
  return primitive("hard_sigmoid", "max(0, min(1, alpha * x + beta))", {"x"})
      .attr("alpha", double{0.2F}, "slope")
      .attr("beta", 0.5, "value at 0")
      .defined_by([](Definition& d) {
        if (!require_float(d)) return;
        const Scalar alpha = d.real("alpha");
        const Scalar beta = d.real("beta");
        d.pointwise([&](Scalar x) { return max(min(alpha * x + beta, 1), 0); });
      })
      .onnx("HardSigmoid");
}

}  // namespace egret::ir::ops
