// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator selu() {
  return primitive("selu", "gamma * x where x > 0, else gamma * alpha * (exp(x) - 1)", {"x"})
      .attr("alpha", double{1.67326319F}, "scale below 0")
      .attr("gamma", double{1.05070102F}, "scale")
      .defined_by([](Definition& d) {
        if (!require_float(d)) return;
        const Scalar alpha = d.real("alpha");
        const Scalar gamma = d.real("gamma");
        d.pointwise([&](Scalar x) {
          return gamma * select(less(0, x), x, alpha * (call(Function::kExp, {x}) - 1));
        });
      })
      .onnx("Selu");
}

}  // namespace egret::ir::ops
