// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator round_() {
  return function_operator(Function::kRoundEven, "round",
                           "The nearest integer; halves go to the even one", "Round", 11);
}

}  // namespace egret::ir::ops
