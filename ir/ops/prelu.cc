// SPDX-License-Identifier: Apache-2.0
#include "ir/operator.h"

namespace egret::ir::ops {

Operator prelu() {
  return primitive("prelu", "x where x >= 0, else slope * x; slope broadcasts to x", {"x", "slope"})
      .defined_by([](Definition& d) {
        d.pointwise([](Scalar x, Scalar slope) { return select(less(x, 0), slope * x, x); });
      })
      .onnx("PRelu", 7);
}

}  // namespace egret::ir::ops
