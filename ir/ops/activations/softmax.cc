// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/adjoint.h"
#include "ir/ops/families/reduction_definition.h"
#include "ir/ops/families/softmax_definition.h"

namespace egret::ir::ops {
namespace {

Value build(GraphBuilder& b, Value x, const Integers& axes) {
  const ShiftedExponentials e = shifted_exponentials(b, x, axes);
  return b.add("div", {e.exponentials, e.sum});
}

// y * (g - sum(g * y)), of the result alone: the shift by the maximum takes no part.
std::vector<Value> differentiate(Adjoint& a) {
  const Attrs over = reduction_attrs({a.attrs().integer("axis")}, true);
  const Value weighted = a("mul", {a.gradient(), a.output()});
  const Value excess = a("sub", {a.gradient(), a("reduce_sum", {weighted}, over)});
  return {a("mul", {a.output(), excess})};
}

}  // namespace

Operator softmax() {
  return differentiated_by(
      softmax_operator("softmax", "exp(x) normalized to sum 1 along an axis", "Softmax", build),
      differentiate);
}

}  // namespace egret::ir::ops
