// SPDX-License-Identifier: Apache-2.0
#include "ir/core/plain_sign.h"

namespace egret::ir {

bool is_plainly_nonnegative(const ExprNode& node) {
  const auto kid = [&](std::size_t i) { return is_plainly_nonnegative(*node.kids[i]); };
  switch (node.op) {
    case ExprOp::kIndexConst: return node.integer >= 0;
    case ExprOp::kSymbol:
    case ExprOp::kIndexMod: return true;
    case ExprOp::kIndexAdd:
    case ExprOp::kIndexMul:
    case ExprOp::kIndexMin: return kid(0) && kid(1);
    case ExprOp::kIndexMax: return kid(0) || kid(1);
    case ExprOp::kIndexDiv: return kid(0);
    default: return false;
  }
}

}  // namespace egret::ir
