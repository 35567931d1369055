// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator bit_and() {
  return bitwise_operator(Function::kBitAnd, "bit_and", "a and b, bit by bit", "BitwiseAnd", 18);
}

}  // namespace egret::ir::ops
