// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator erf_() { return function_operator(Function::kErf, "erf", "The error function", "Erf", 9); }

}  // namespace egret::ir::ops
