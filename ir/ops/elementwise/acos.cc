// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator acos_() {
  return function_operator(Function::kAcos, "acos", "The inverse cosine, in radians", "Acos", 7);
}

}  // namespace egret::ir::ops
