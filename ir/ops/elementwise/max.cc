// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator max() {
  return primitive("max", "The larger of a and b; NaN if either is, elementwise with broadcasting",
                   {"a", "b"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar a, Scalar b) { return max(a, b); }); })
      .onnx_import("Max", chain_import("max"))
      .onnx_export(same_name_export("Max"), 8);
}

}  // namespace egret::ir::ops
