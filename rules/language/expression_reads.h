// SPDX-License-Identifier: Apache-2.0
// The facts about tensors that a function of expressions reads (functions(), expression.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "rules/language/expression.h"

namespace egret::rules {

enum class Reads : std::uint8_t {
  kNothing,      // no tensor
  kElementType,  // dtype, is_float, is_number
  kRank,
  kSizes,     // dim, shape, elements, same_type
  kElements,  // splat, is_splat, splat_of
  kOrigin,    // constant, distinct, before
};
Reads reads_of(const ExprFunction& function);

// Whether some part of the expression is a call of a function that satisfies `holds`.
template <typename Holds>
bool any_call(const Expr& expr, const Holds& holds) {
  if (expr.kind == Expr::Kind::kCall && holds(*expr.function)) return true;
  return std::ranges::any_of(expr.arguments,
                             [&](const Expr& part) { return any_call(part, holds); });
}

}  // namespace egret::rules
