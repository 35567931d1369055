// SPDX-License-Identifier: Apache-2.0
#include "rules/language/expression_reads.h"

#include <iterator>
#include <utility>

#include "base/check.h"

namespace egret::rules {

Reads reads_of(const ExprFunction& function) {
  static constexpr std::pair<std::string_view, Reads> kOfTensors[] = {
      {"dtype", Reads::kElementType},
      {"is_float", Reads::kElementType},
      {"is_number", Reads::kElementType},
      {"rank", Reads::kRank},
      {"dim", Reads::kSizes},
      {"shape", Reads::kSizes},
      {"elements", Reads::kSizes},
      {"same_type", Reads::kSizes},
      {"splat", Reads::kElements},
      {"is_splat", Reads::kElements},
      {"splat_of", Reads::kElements},
      {"nonnegative", Reads::kElements},
      {"positive", Reads::kElements},
      {"constant", Reads::kOrigin},
      {"distinct", Reads::kOrigin},
      {"before", Reads::kOrigin}};
  if (function.tensors == 0) return Reads::kNothing;
  const auto found =
      std::ranges::find(kOfTensors, function.name, &std::pair<std::string_view, Reads>::first);
  EGRET_CHECK(found != std::end(kOfTensors), "a function of tensors without a row here");
  return found->second;
}

namespace {

std::optional<ir::Sign> sign_named(std::string_view function) {
  if (function == "nonnegative") return ir::Sign::kNotNegative;
  if (function == "positive") return ir::Sign::kPositive;
  return std::nullopt;
}

// The sign that a condition states of a tensor.
ir::Sign stated_sign(const Expr& condition, int tensor) {
  ir::Sign sign = ir::Sign::kUnknown;
  if (condition.kind == Expr::Kind::kAnd) {
    for (const Expr& part : condition.arguments) sign = std::max(sign, stated_sign(part, tensor));
  } else if (condition.kind == Expr::Kind::kCall) {
    const auto named = sign_named(condition.function->name);
    if (named && condition.arguments[0].slot == tensor) sign = *named;
  }
  return sign;
}

}  // namespace

bool states_sign(const Expr& condition) {
  return condition.kind == Expr::Kind::kCall && sign_named(condition.function->name).has_value();
}

ir::Sign stated_sign(const Rule& rule, int tensor) {
  ir::Sign sign = ir::Sign::kUnknown;
  for (const Expr& condition : rule.conditions)
    sign = std::max(sign, stated_sign(condition, tensor));
  return sign;
}

const Expr* nested_sign(const Expr& condition) {
  if (condition.kind == Expr::Kind::kAnd) {
    for (const Expr& part : condition.arguments) {
      if (const Expr* nested = nested_sign(part)) return nested;
    }
    return nullptr;
  }
  if (states_sign(condition)) return nullptr;
  for (const Expr& part : condition.arguments) {
    if (states_sign(part)) return &part;
    if (const Expr* nested = nested_sign(part)) return nested;
  }
  return nullptr;
}

}  // namespace egret::rules
