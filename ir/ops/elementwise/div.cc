// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator div_() {
  return primitive("div", "a / b, elementwise with broadcasting; integers truncate toward zero",
                   {"a", "b"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar a, Scalar b) { return a / b; }); })
      .onnx("Div");
}

}  // namespace egret::ir::ops
