// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator bit_not() {
  return bitwise_operator(Function::kBitNot, "bit_not", "Every bit of x flipped", "BitwiseNot", 18);
}

}  // namespace egret::ir::ops
