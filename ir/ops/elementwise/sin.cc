// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator sin_() {
  return function_operator(Function::kSin, "sin", "The sine of x in radians", "Sin", 7);
}

}  // namespace egret::ir::ops
