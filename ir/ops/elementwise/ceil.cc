// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator ceil_() {
  return function_operator(Function::kCeil, "ceil", "The smallest integer not below x", "Ceil");
}

}  // namespace egret::ir::ops
