// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator acosh_() {
  return function_operator(Function::kAcosh, "acosh", "The inverse hyperbolic cosine", "Acosh", 9);
}

}  // namespace egret::ir::ops
