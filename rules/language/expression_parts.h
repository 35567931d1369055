// SPDX-License-Identifier: Apache-2.0
// Constructors for expressions of rules (rules/language/expression.h).
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "rules/language/expression.h"

namespace egret::rules {

inline Expr literal(ir::AttrValue value) {
  return {.kind = Expr::Kind::kLiteral, .value = std::move(value)};
}
inline Expr call(std::string_view function, std::vector<Expr> arguments) {
  Expr expr{.kind = Expr::Kind::kCall, .function = find_function(function)};
  EGRET_CHECK(expr.function != nullptr, "a function that rules do not have");
  expr.arguments = std::move(arguments);
  return expr;
}
inline Expr tensor(int slot) { return {.kind = Expr::Kind::kTensor, .slot = slot}; }
inline Expr attribute(int slot) { return {.kind = Expr::Kind::kAttribute, .slot = slot}; }
inline Expr equal(Expr a, Expr b) { return call("==", {std::move(a), std::move(b)}); }

}  // namespace egret::rules
