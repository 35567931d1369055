// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator relu() {
  return primitive("relu", "max(x, 0), elementwise", {"x"})
      .defined_by([](Definition& d) {
        if (d.require_dtype(0, has_sign(d.dtype(0)), "a tensor of numbers that have a sign"))
          d.pointwise([](Scalar x) { return max(x, 0); });
      })
      .onnx("Relu");
}

}  // namespace egret::ir::ops
