// SPDX-License-Identifier: Apache-2.0
#include "ir/softmax_definition.h"

namespace egret::ir::ops {
namespace {

Value build(GraphBuilder& b, Value x, const Integers& axes) {
  const ShiftedExponentials e = shifted_exponentials(b, x, axes);
  return b.add("div", {e.exponentials, e.sum});
}

}  // namespace

Operator softmax() {
  return softmax_operator("softmax", "exp(x) normalized to sum 1 along an axis", "Softmax", build);
}

}  // namespace egret::ir::ops
