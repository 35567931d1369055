// SPDX-License-Identifier: Apache-2.0
#include "ir/core/expression_extent.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace egret::ir {
namespace {

constexpr std::int64_t kMostCounted = 1 << 20;
constexpr std::int64_t kMostNodes = 512;
constexpr std::int64_t kMostTerms = 128;
constexpr std::int64_t kMostDivisions = 6;

std::int64_t capped(std::int64_t number) { return std::min(number, kMostCounted); }

ExpressionExtent joined(ExprOp op, ExpressionExtent a, const ExpressionExtent& b) {
  a.nodes = capped(a.nodes + b.nodes);
  a.terms = capped(op == ExprOp::kIndexMul ? a.terms * b.terms : a.terms + b.terms);
  a.most_terms = std::max(a.most_terms, b.most_terms);
  a.divisions = std::max(a.divisions, b.divisions);
  return a;
}

// What stays one factor, or one term, when the expression around it is expanded.
bool is_atom(ExprOp op) {
  return op == ExprOp::kIndexDiv || op == ExprOp::kIndexMod || op == ExprOp::kIndexMin ||
         op == ExprOp::kIndexMax;
}

}  // namespace

ExpressionExtent ExpressionMeter::of(const ExprNode* root) {
  // With a stack of its own: the depth is what the input says.
  std::vector<std::pair<const ExprNode*, std::size_t>> stack{{root, 0}};
  while (!known_.contains(root)) {
    auto& [node, next] = stack.back();
    if (next < node->kids.size()) {
      const ExprNode* kid = node->kids[next++];
      if (!known_.contains(kid)) stack.emplace_back(kid, 0);
      continue;
    }
    ExpressionExtent extent;
    for (std::size_t i = 0; i < node->kids.size(); ++i) {
      const ExpressionExtent& kid = known_.at(node->kids[i]);
      extent = i == 0 ? kid : joined(node->op, extent, kid);
    }
    if (!node->kids.empty()) extent.nodes = capped(extent.nodes + 1);
    extent.most_terms = std::max(extent.most_terms, extent.terms);
    if (is_atom(node->op)) extent.terms = 1;
    if (node->op == ExprOp::kIndexDiv || node->op == ExprOp::kIndexMod)
      extent.divisions = capped(extent.divisions + 1);
    known_.emplace(node, extent);
    stack.pop_back();
  }
  return known_.at(root);
}

bool ExpressionMeter::is_short(const ExprNode* node) {
  const ExpressionExtent extent = of(node);
  return extent.nodes <= kMostNodes && extent.most_terms <= kMostTerms;
}

bool ExpressionMeter::is_shallow(const ExprNode* node) {
  return of(node).divisions <= kMostDivisions;
}

}  // namespace egret::ir
