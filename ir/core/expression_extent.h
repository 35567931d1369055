// SPDX-License-Identifier: Apache-2.0
// How long expressions over sizes are. A model can state sizes as products, quotients and extrema
// of others without end, and each step may double what the sizes stand for.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ir/core/denotation.h"

namespace egret::ir {

// Numbers grow to a large limit and stay there.
struct ExpressionExtent {
  std::int64_t nodes = 1;       // as a tree: a shared part counts each time
  std::int64_t terms = 1;       // once products of sums are expanded
  std::int64_t most_terms = 1;  // the same of any part
  std::int64_t divisions = 0;   // quotients and remainders within each other
};

// Measures expressions of symbol_pool(), each part once.
class ExpressionMeter {
 public:
  ExpressionExtent of(const ExprNode* node);

  // Whether code may evaluate and expand the expression. Sizes of real models are far shorter.
  bool is_short(const ExprNode* node);
  bool is_short(Index size) { return size.is_constant() || is_short(size.node()); }
  // Whether a solver may be asked about it. Nested divisions are what solvers fail at, slowly.
  bool is_shallow(const ExprNode* node);

 private:
  std::unordered_map<const ExprNode*, ExpressionExtent> known_;
};

}  // namespace egret::ir
