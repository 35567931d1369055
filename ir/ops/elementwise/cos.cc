// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator cos_() {
  return function_operator(Function::kCos, "cos", "The cosine of x in radians", "Cos", 7);
}

}  // namespace egret::ir::ops
