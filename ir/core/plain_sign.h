// SPDX-License-Identifier: Apache-2.0
// The sign of sizes as far as their form tells it, without a solver.
#pragma once

#include "ir/core/denotation.h"

namespace egret::ir {

// Whether the index expression is not negative whatever its symbols are, from 0 on: sums, products,
// quotients and extrema of such. Linear in the expression as a tree.
bool is_plainly_nonnegative(const ExprNode& node);

}  // namespace egret::ir
