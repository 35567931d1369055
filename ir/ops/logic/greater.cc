// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator greater() {
  return predicate_operator("greater", "a > b, as bool", "Greater", 7,
                            [](Scalar a, Scalar b) { return less(b, a); });
}

}  // namespace egret::ir::ops
