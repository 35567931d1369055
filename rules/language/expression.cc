// SPDX-License-Identifier: Apache-2.0
#include "rules/language/expression.h"

#include <algorithm>

#include "ir/core/symbolic_scope.h"

namespace egret::rules {

using ir::AttrValue;
using ir::Integers;
using Value = std::optional<AttrValue>;

namespace {

constexpr std::int64_t kMaxComprehension = 4096;

bool is_true(const AttrValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return ir::concrete_integer(*integer) != 0;
  return false;
}

Value evaluate_list(const Expr& expr, Environment& environment) {
  Integers list;
  for (const Expr& element : expr.arguments) {
    const Value value = evaluate(element, environment);
    if (!value || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
    list.push_back(std::get<std::int64_t>(*value));
  }
  return AttrValue(std::move(list));
}

Value evaluate_comprehension(const Expr& expr, Environment& environment) {
  const Value count = evaluate(expr.arguments[0], environment);
  if (!count || !std::holds_alternative<std::int64_t>(*count)) return std::nullopt;
  const std::int64_t n = ir::concrete_integer(std::get<std::int64_t>(*count));
  if (n < 0 || n > kMaxComprehension) return std::nullopt;
  Integers list;
  environment.loops.push_back(0);
  for (std::int64_t i = 0; i < n; ++i) {
    environment.loops.back() = i;
    const Value value = evaluate(expr.arguments[1], environment);
    if (!value || !std::holds_alternative<std::int64_t>(*value)) {
      environment.loops.pop_back();
      return std::nullopt;
    }
    list.push_back(std::get<std::int64_t>(*value));
  }
  environment.loops.pop_back();
  return AttrValue(std::move(list));
}

// The value of an expression that is stored and need not be computed; otherwise nullptr.
const AttrValue* kept_value(const Expr& expr, const Environment& environment) {
  const auto slot = static_cast<std::size_t>(expr.slot);
  if (expr.kind == Expr::Kind::kLiteral) return &expr.value;
  if (expr.kind == Expr::Kind::kAttribute)
    return environment.attributes[slot] ? &*environment.attributes[slot] : nullptr;
  if (expr.kind == Expr::Kind::kSpread && environment.spreads[slot] != nullptr)
    return environment.spreads[slot]->find(expr.name);
  return nullptr;
}

Value evaluate_call(const Expr& expr, Environment& environment) {
  base::SmallVector<Environment::Tensor, 2> tensors;
  base::SmallVector<AttrValue, 3> computed;
  base::SmallVector<const AttrValue*, 3> values;
  computed.reserve(expr.arguments.size());  // they stay in place
  for (const Expr& argument : expr.arguments) {
    if (argument.kind == Expr::Kind::kTensor) {
      tensors.push_back(environment.tensors[static_cast<std::size_t>(argument.slot)]);
      if (tensors.back().facts == nullptr) return std::nullopt;
      continue;
    }
    if (const AttrValue* kept = kept_value(argument, environment)) {
      values.push_back(kept);
      continue;
    }
    Value value = evaluate(argument, environment);
    if (!value) return std::nullopt;
    values.push_back(&computed.emplace_back(*std::move(value)));
  }
  return expr.function->call({tensors.data(), tensors.size()},
                             ExprArguments({values.data(), values.size()}));
}

}  // namespace

Value evaluate(const Expr& expr, Environment& environment) {
  const auto slot = static_cast<std::size_t>(expr.slot);
  switch (expr.kind) {
    case Expr::Kind::kLiteral:
    case Expr::Kind::kAttribute:
    case Expr::Kind::kSpread: {
      const AttrValue* kept = kept_value(expr, environment);
      return kept != nullptr ? Value(*kept) : std::nullopt;
    }
    case Expr::Kind::kLoop: return AttrValue(environment.loops[slot]);
    case Expr::Kind::kTensor: return std::nullopt;
    case Expr::Kind::kCall: return evaluate_call(expr, environment);
    case Expr::Kind::kList: return evaluate_list(expr, environment);
    case Expr::Kind::kComprehension: return evaluate_comprehension(expr, environment);
    case Expr::Kind::kAnd:
    case Expr::Kind::kOr: {
      const bool decisive = expr.kind == Expr::Kind::kOr;
      for (const Expr& argument : expr.arguments) {
        const Value value = evaluate(argument, environment);
        if (!value) return std::nullopt;
        if (is_true(*value) == decisive) return AttrValue(std::int64_t{decisive});
      }
      return AttrValue(std::int64_t{!decisive});
    }
    case Expr::Kind::kIf: {
      const Value condition = evaluate(expr.arguments[0], environment);
      if (!condition) return std::nullopt;
      return evaluate(expr.arguments[is_true(*condition) ? 1 : 2], environment);
    }
  }
  return std::nullopt;
}

bool is_constant(const Expr& expr) {
  using Kind = Expr::Kind;
  switch (expr.kind) {
    case Kind::kAttribute:
    case Kind::kSpread:
    case Kind::kLoop:
    case Kind::kTensor: return false;
    default: return std::ranges::all_of(expr.arguments, is_constant);
  }
}

bool holds(const Expr& expr, Environment& environment) {
  const Value value = evaluate(expr, environment);
  return value && is_true(*value);
}

}  // namespace egret::rules
