// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator sub() {
  return primitive("sub", "a - b, elementwise with broadcasting", {"a", "b"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar a, Scalar b) { return a - b; }); })
      .onnx("Sub");
}

}  // namespace egret::ir::ops
