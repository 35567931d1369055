// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator equal() {
  return predicate_operator("equal", "a == b, as bool", "Equal", 7,
                            [](Scalar a, Scalar b) { return equal(a, b); });
}

}  // namespace egret::ir::ops
