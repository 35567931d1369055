// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator elu() {
  return primitive("elu", "x where x >= 0, else alpha * (exp(x) - 1)", {"x"})
      .attr("alpha", 1.0, "scale below 0")
      .defined_by([](Definition& d) {
        if (!require_float(d)) return;
        const Scalar alpha = d.real("alpha");
        d.pointwise([&](Scalar x) {
          return select(less(x, 0), alpha * (call(Function::kExp, {x}) - 1), x);
        });
      })
      .onnx("Elu");
}

}  // namespace egret::ir::ops
