// SPDX-License-Identifier: Apache-2.0
#include "ir/operator.h"

namespace egret::ir::ops {

Operator add() {
  return primitive("add", "a + b, elementwise with broadcasting", {"a", "b"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar a, Scalar b) { return a + b; }); })
      .onnx("Add");
}

}  // namespace egret::ir::ops
