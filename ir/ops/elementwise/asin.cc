// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator asin_() {
  return function_operator(Function::kAsin, "asin", "The inverse sine, in radians", "Asin", 7);
}

}  // namespace egret::ir::ops
