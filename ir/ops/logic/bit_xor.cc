// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {

Operator bit_xor() {
  return bitwise_operator(Function::kBitXor, "bit_xor", "a xor b, bit by bit", "BitwiseXor", 18);
}

}  // namespace egret::ir::ops
