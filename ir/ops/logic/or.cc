// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator or_() {
  return logic_operator("or", "a or b, of bool tensors", "Or",
                        [](Scalar a, Scalar b) { return !equal(a, 0) || !equal(b, 0); });
}

}  // namespace egret::ir::ops
