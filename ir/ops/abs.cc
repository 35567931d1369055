// SPDX-License-Identifier: Apache-2.0
#include "ir/elementwise_definition.h"

namespace egret::ir::ops {

Operator abs_() {
  return primitive("abs", "|x|", {"x"})
      .defined_by([](Definition& d) {
        // Unsigned numbers have no negatives: -x is one again, and large.
        const bool has_sign = is_float(d.dtype(0)) || is_signed_integer(d.dtype(0));
        d.pointwise([&](Scalar x) { return has_sign ? magnitude(x) : x; });
      })
      .onnx("Abs");
}

}  // namespace egret::ir::ops
