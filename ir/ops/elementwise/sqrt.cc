// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator sqrt_() { return function_operator(Function::kSqrt, "sqrt", "The square root", "Sqrt"); }

}  // namespace egret::ir::ops
