// SPDX-License-Identifier: Apache-2.0
#include "ir/softmax_definition.h"

namespace egret::ir::ops {
namespace {

Value build(GraphBuilder& b, Value x, const Integers& axes) {
  const ShiftedExponentials e = shifted_exponentials(b, x, axes);
  return b.add("sub", {e.shifted, b.add("log", {e.sum})});
}

}  // namespace

Operator log_softmax() {
  return softmax_operator("log_softmax", "log(softmax(x)) along an axis", "LogSoftmax", build);
}

}  // namespace egret::ir::ops
