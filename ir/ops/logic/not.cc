// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator not_() {
  return primitive("not", "The negation of a bool tensor", {"x"})
      .defined_by([](Definition& d) {
        if (!d.require_dtype(0, d.dtype(0) == DType::kBool, "bool")) return;
        d.pointwise([](Scalar x) { return scalar_of(equal(x, 0)); });
      })
      .onnx("Not");
}

}  // namespace egret::ir::ops
