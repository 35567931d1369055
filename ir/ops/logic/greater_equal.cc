// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator greater_equal() {
  return predicate_operator("greater_equal", "a >= b, as bool", "GreaterOrEqual", 12,
                            [](Scalar a, Scalar b) { return less_equal(b, a); });
}

}  // namespace egret::ir::ops
