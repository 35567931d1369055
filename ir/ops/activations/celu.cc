// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator celu() {
  return primitive("celu", "x where x >= 0, else alpha * (exp(x / alpha) - 1)", {"x"})
      .attr("alpha", 1.0, "scale below 0, not 0")
      .defined_by([](Definition& d) {
        if (!require_float(d)) return;
        const Scalar alpha = d.real("alpha");
        d.pointwise([&](Scalar x) {
          return select(less(x, 0), alpha * (call(Function::kExp, {x / alpha}) - 1), x);
        });
      })
      .onnx("Celu", 12);
}

}  // namespace egret::ir::ops
