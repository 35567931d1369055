// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/adjoint.h"
#include "ir/ops/families/reduction_definition.h"
#include "ir/ops/families/softmax_definition.h"

namespace egret::ir::ops {
namespace {

Value build(GraphBuilder& b, Value x, const Integers& axes) {
  const ShiftedExponentials e = shifted_exponentials(b, x, axes);
  return b.add("sub", {e.shifted, b.add("log", {e.sum})});
}

// g - softmax * sum(g), of the result alone: the shift by the maximum takes no part.
std::vector<Value> differentiate(Adjoint& a) {
  const Value sum =
      a("reduce_sum", {a.gradient()}, reduction_attrs({a.attrs().integer("axis")}, true));
  return {a("sub", {a.gradient(), a("mul", {a("exp", {a.output()}), sum})})};
}

}  // namespace

Operator log_softmax() {
  return differentiated_by(
      softmax_operator("log_softmax", "log(softmax(x)) along an axis", "LogSoftmax", build),
      differentiate);
}

}  // namespace egret::ir::ops
