// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator atan_() {
  return function_operator(Function::kAtan, "atan", "The inverse tangent, in radians", "Atan", 7);
}

}  // namespace egret::ir::ops
