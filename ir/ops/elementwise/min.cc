// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator min() {
  return primitive("min", "The smaller of a and b; NaN if either is, elementwise with broadcasting",
                   {"a", "b"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar a, Scalar b) { return min(a, b); }); })
      .onnx_import("Min", chain_import("min"))
      .onnx_export(same_name_export("Min"), 8);
}

}  // namespace egret::ir::ops
