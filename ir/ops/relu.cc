// SPDX-License-Identifier: Apache-2.0
#include "ir/operator.h"

namespace egret::ir::ops {

Operator relu() {
  return primitive("relu", "max(x, 0), elementwise", {"x"})
      .defined_by([](Definition& d) {
        const bool has_sign = is_float(d.dtype(0)) || is_signed_integer(d.dtype(0));
        if (d.require_dtype(0, has_sign, "a tensor of numbers that have a sign"))
          d.pointwise([](Scalar x) { return max(x, 0); });
      })
      .onnx("Relu");
}

}  // namespace egret::ir::ops
