// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator exp_() { return function_operator(Function::kExp, "exp", "e to the x", "Exp"); }

}  // namespace egret::ir::ops
