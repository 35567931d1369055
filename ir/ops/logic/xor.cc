// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator xor_() {
  return logic_operator("xor", "Either a or b, not both, of bool tensors", "Xor",
                        [](Scalar a, Scalar b) { return !equal(a, b); });
}

}  // namespace egret::ir::ops
