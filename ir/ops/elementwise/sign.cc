// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator sign() {
  return primitive("sign", "1, 0 or -1: the sign of x", {"x"})
      .defined_by([](Definition& d) {
        d.pointwise([](Scalar x) {
          return select(less(0, x), 1, select(less(x, 0), -1, x));  // x: 0, or NaN
        });
      })
      .onnx("Sign", 9);
}

}  // namespace egret::ir::ops
