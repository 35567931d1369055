// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator less_equal() {
  return predicate_operator("less_equal", "a <= b, as bool", "LessOrEqual", 12,
                            [](Scalar a, Scalar b) { return less_equal(a, b); });
}

}  // namespace egret::ir::ops
