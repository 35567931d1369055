// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator cosh_() {
  return function_operator(Function::kCosh, "cosh", "The hyperbolic cosine", "Cosh", 9);
}

}  // namespace egret::ir::ops
