// SPDX-License-Identifier: Apache-2.0
#include "ir/operator.h"

namespace egret::ir::ops {

Operator exp_() {
  return primitive("exp", "e to the x, elementwise", {"x"})
      .defined_by(
          [](Definition& d) { d.pointwise([](Scalar x) { return call(Function::kExp, {x}); }); })
      .onnx("Exp");
}

}  // namespace egret::ir::ops
