// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator atanh_() {
  return function_operator(Function::kAtanh, "atanh", "The inverse hyperbolic tangent", "Atanh", 9);
}

}  // namespace egret::ir::ops
