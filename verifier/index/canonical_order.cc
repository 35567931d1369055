// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/canonical_order.h"

#include <algorithm>
#include <set>
#include <utility>

namespace egret::verifier {

using ir::ExprNode;
using ir::ExprOp;

namespace {

bool is_commutative(ExprOp op) {
  return op == ExprOp::kIndexAdd || op == ExprOp::kIndexMul || op == ExprOp::kIndexMin ||
         op == ExprOp::kIndexMax || op == ExprOp::kIndexEq || op == ExprOp::kAnd ||
         op == ExprOp::kOr;
}

bool is_composite(ExprOp op) {
  return op == ExprOp::kIndexDiv || op == ExprOp::kIndexMod || op == ExprOp::kIndexMin ||
         op == ExprOp::kIndexMax;
}

}  // namespace

std::vector<const ExprNode*> CanonicalOrder::operands(const ExprNode& node) {
  std::vector<const ExprNode*> kids(node.kids.begin(), node.kids.end());
  if (is_commutative(node.op))
    std::ranges::stable_sort(
        kids, [&](const ExprNode* a, const ExprNode* b) { return key(*a) < key(*b); });
  return kids;
}

// The recursion depth is that of one condition.
const std::string& CanonicalOrder::key(const ExprNode& node) {
  if (const auto known = keys_.find(&node); known != keys_.end()) return known->second;
  std::string text = "(" + std::to_string(static_cast<int>(node.op)) + " " +
                     std::to_string(node.integer) + " " + std::string(node.name);
  for (const ExprNode* kid : operands(node)) text += " " + key(*kid);
  return keys_.emplace(&node, text + ")").first->second;
}

std::vector<const ExprNode*> CanonicalOrder::composites(std::span<const ir::Guard> guards) {
  std::set<std::pair<std::pair<std::size_t, std::string>, const ExprNode*>> found;
  std::set<const ExprNode*> seen;
  std::vector<const ExprNode*> open;
  for (const ir::Guard& guard : guards) {
    if (!guard.is_constant()) open.push_back(guard.node());
  }
  while (!open.empty()) {
    const ExprNode* node = open.back();
    open.pop_back();
    if (!seen.insert(node).second) continue;
    if (is_composite(node->op)) {
      const std::string& text = key(*node);
      found.insert({{text.size(), text}, node});
    }
    open.insert(open.end(), node->kids.begin(), node->kids.end());
  }
  std::vector<const ExprNode*> result;
  for (const auto& [order, node] : found) result.push_back(node);
  return result;
}

}  // namespace egret::verifier
