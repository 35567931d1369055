// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const bool like_dividend = d.flag("fmod");
  const bool floats = is_float(d.dtype(0));
  d.pointwise([&](Scalar a, Scalar b) {
    const Scalar quotient = floats ? call(Function::kTrunc, {a / b}) : a / b;
    const Scalar remainder = a - quotient * b;
    if (like_dividend) return remainder;
    const Guard signs_differ = (less(remainder, 0) && less(0, b)) ||  //
                               (less(0, remainder) && less(b, 0));
    return select(signs_differ, remainder + b, remainder);
  });
}

}  // namespace

Operator mod() {
  return primitive("mod", "The remainder of a / b, elementwise with broadcasting", {"a", "b"})
      .attr("fmod", std::int64_t{0}, "the sign of the result: 0 that of b, 1 that of a")
      .defined_by(define)
      .onnx("Mod", 10);
}

}  // namespace egret::ir::ops
