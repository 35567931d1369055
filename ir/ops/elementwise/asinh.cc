// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator asinh_() {
  return function_operator(Function::kAsinh, "asinh", "The inverse hyperbolic sine", "Asinh", 9);
}

}  // namespace egret::ir::ops
