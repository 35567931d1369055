// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator and_() {
  return logic_operator("and", "a and b, of bool tensors", "And",
                        [](Scalar a, Scalar b) { return !equal(a, 0) && !equal(b, 0); });
}

}  // namespace egret::ir::ops
