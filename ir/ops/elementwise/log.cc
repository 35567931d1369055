// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator log_() { return function_operator(Function::kLog, "log", "The natural logarithm", "Log"); }

}  // namespace egret::ir::ops
