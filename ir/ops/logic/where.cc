// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator where() {
  return primitive("where", "x where the condition holds, else y; all three broadcast",
                   {"condition", "x", "y"})
      .shown_on({"bool[M,N]", "f32[M,N]", "f32[M,N]"})
      .defined_by([](Definition& d) {
        if (!d.require_dtype(0, d.dtype(0) == DType::kBool, "bool")) return;
        if (!d.require_dtype(2, d.dtype(1) == d.dtype(2), "of the type of input 1")) return;
        d.pointwise_as(d.dtype(1), [](std::span<const Scalar> in) {
          return select(!equal(in[0], 0), in[1], in[2]);
        });
      })
      .onnx("Where", 9);
}

}  // namespace egret::ir::ops
