// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/expression_nodes.h"

#include <set>

namespace egret::parallel {
namespace {

using ir::ExprNode;
using ir::ExprOp;

void collect(const ExprNode* node, ExprOp op, std::set<const ExprNode*>& seen,
             std::vector<const ExprNode*>& found) {
  if (!seen.insert(node).second) return;
  for (const ExprNode* kid : node->kids) collect(kid, op, seen, found);
  if (node->op == op) found.push_back(node);
}

}  // namespace

std::vector<const ExprNode*> nodes_inside(const ExprNode* expression, ExprOp op) {
  std::vector<const ExprNode*> found;
  std::set<const ExprNode*> seen;
  collect(expression, op, seen, found);
  return found;
}

}  // namespace egret::parallel
