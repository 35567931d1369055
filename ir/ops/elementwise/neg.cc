// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator neg() {
  return primitive("neg", "-x", {"x"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar x) { return -x; }); })
      .onnx("Neg");
}

}  // namespace egret::ir::ops
