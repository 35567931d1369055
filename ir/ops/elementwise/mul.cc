// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator mul() {
  return primitive("mul", "a * b, elementwise with broadcasting", {"a", "b"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar a, Scalar b) { return a * b; }); })
      .onnx("Mul");
}

}  // namespace egret::ir::ops
