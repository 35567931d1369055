// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator leaky_relu() {
  return primitive("leaky_relu", "x where x >= 0, else alpha * x", {"x"})
      .attr("alpha", double{0.01F}, "slope below 0")
      .defined_by([](Definition& d) {
        if (!require_float(d)) return;
        const Scalar alpha = d.real("alpha");
        d.pointwise([&](Scalar x) { return select(less(x, 0), alpha * x, x); });
      })
      .onnx("LeakyRelu");
}

}  // namespace egret::ir::ops
