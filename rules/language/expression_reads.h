// SPDX-License-Identifier: Apache-2.0
// The facts about tensors that a function of expressions reads (functions(), expression.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "rules/language/expression.h"
#include "rules/language/rule.h"

namespace egret::rules {

enum class Reads : std::uint8_t {
  kNothing,      // no tensor
  kElementType,  // dtype, is_float, is_number
  kRank,
  kSizes,     // dim, shape, elements, same_type
  kElements,  // splat, is_splat, splat_of, nonnegative, positive
  kOrigin,    // constant, distinct, before
};
Reads reads_of(const ExprFunction& function);

// The sign that the conditions state of all elements of a tensor variable.
ir::Sign stated_sign(const Rule& rule, int tensor);
// Whether the condition states a sign of a tensor.
bool states_sign(const Expr& condition);
// A part of the condition that states a sign and is not joined to the others by `and` alone; null:
// none. A proof could not use it.
const Expr* nested_sign(const Expr& condition);

// Whether some part of the expression is a call of a function that satisfies `holds`.
template <typename Holds>
bool any_call(const Expr& expr, const Holds& holds) {
  if (expr.kind == Expr::Kind::kCall && holds(*expr.function)) return true;
  return std::ranges::any_of(expr.arguments,
                             [&](const Expr& part) { return any_call(part, holds); });
}

}  // namespace egret::rules
