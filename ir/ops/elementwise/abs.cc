// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator abs_() {
  return primitive("abs", "|x|", {"x"})
      .defined_by([](Definition& d) {
        // Unsigned numbers have no negatives: -x is one again, and large.
        const bool may_be_negative = has_sign(d.dtype(0));
        d.pointwise([&](Scalar x) { return may_be_negative ? magnitude(x) : x; });
      })
      .onnx("Abs");
}

}  // namespace egret::ir::ops
