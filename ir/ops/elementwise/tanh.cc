// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator tanh_() {
  return function_operator(Function::kTanh, "tanh", "The hyperbolic tangent", "Tanh");
}

}  // namespace egret::ir::ops
