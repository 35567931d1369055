// SPDX-License-Identifier: Apache-2.0
// The nodes of one kind in an expression.
#pragma once

#include <vector>

#include "ir/graph/definition.h"

namespace egret::parallel {

// Each once, operands before the nodes that use them. O(nodes log nodes).
std::vector<const ir::ExprNode*> nodes_inside(const ir::ExprNode* expression, ir::ExprOp op);

}  // namespace egret::parallel
