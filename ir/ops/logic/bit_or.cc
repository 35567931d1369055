// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator bit_or() {
  return bitwise_operator(Function::kBitOr, "bit_or", "a or b, bit by bit", "BitwiseOr", 18);
}

}  // namespace egret::ir::ops
