// SPDX-License-Identifier: Apache-2.0
#include "ir/elementwise_definition.h"

namespace egret::ir::ops {

Operator abs_() {
  return primitive("abs", "|x|", {"x"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar x) { return magnitude(x); }); })
      .onnx("Abs");
}

}  // namespace egret::ir::ops
