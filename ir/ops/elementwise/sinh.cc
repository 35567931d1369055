// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator sinh_() {
  return function_operator(Function::kSinh, "sinh", "The hyperbolic sine", "Sinh", 9);
}

}  // namespace egret::ir::ops
