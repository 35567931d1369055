// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator tan_() {
  return function_operator(Function::kTan, "tan", "The tangent of x in radians", "Tan", 7);
}

}  // namespace egret::ir::ops
