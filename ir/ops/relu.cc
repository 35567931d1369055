// SPDX-License-Identifier: Apache-2.0
#include "ir/operator.h"

namespace egret::ir::ops {

Operator relu() {
  return primitive("relu", "max(x, 0), elementwise", {"x"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar x) { return max(x, 0); }); })
      .onnx("Relu");
}

}  // namespace egret::ir::ops
