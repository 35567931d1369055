// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

// 1/6 in single precision, as in the HardSigmoid nodes of models that spell this out.
Value build(Body& b) {
  const Value x = b.input(0);
  return b("mul", {x, b("hard_sigmoid", {x}, {{"alpha", double{1.0F / 6.0F}}, {"beta", 0.5}})});
}

}  // namespace

Operator hard_swish() {
  return composite("hard_swish", "x * max(0, min(1, x / 6 + 1/2))", {"x"})
      .with_body(build)
      .onnx("HardSwish", 14);
}

}  // namespace egret::ir::ops
