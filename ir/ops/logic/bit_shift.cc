// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {

Operator bit_shift() {
  return primitive("bit_shift", "a shifted by b bits; bits that leave are lost", {"a", "b"})
      .attr("direction", AttrKind::kText, "LEFT or RIGHT")
      .one_of({"LEFT", "RIGHT"})
      .shown_on({"u8[N]", "u8[N]"}, {{"direction", std::string("LEFT")}})
      .defined_by([](Definition& d) {
        const bool left = d.text("direction") == "LEFT";
        if (!left && d.text("direction") != "RIGHT") {
          d.fail("direction must be LEFT or RIGHT, not '" + d.text("direction") + "'");
          return;
        }
        const DType type = d.dtype(0);
        if (!d.require_dtype(0, is_integer(type) && !is_signed_integer(type), "unsigned")) return;
        const Function shift = left ? Function::kShiftLeft : Function::kShiftRight;
        d.pointwise([&](Scalar a, Scalar b) { return call(shift, {a, b}); });
      })
      .onnx("BitShift", 11);
}

}  // namespace egret::ir::ops
