// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator less() {
  return predicate_operator("less", "a < b, as bool", "Less", 7,
                            [](Scalar a, Scalar b) { return less(a, b); });
}

}  // namespace egret::ir::ops
