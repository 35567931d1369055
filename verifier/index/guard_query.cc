// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/guard_query.h"

#include <string>
#include <vector>

namespace egret::verifier {

using ir::ExprOp;

bool GuardQuery::add(ir::Guard guard) {
  if (guard.is_constant()) {
    query_.add(query_.truth(guard.is_true()));
    return true;
  }
  const auto expression = translated(*guard.node());
  if (expression) query_.add(*expression);
  return expression.has_value();
}

void GuardQuery::at_least(std::string_view symbol, std::int64_t bound) {
  query_.add(query_.number(bound) <= query_.unknown(symbol));
}
void GuardQuery::at_most(std::string_view symbol, std::int64_t bound) {
  query_.add(query_.unknown(symbol) <= query_.number(bound));
}

Expression GuardQuery::quotient_or_remainder(Expression a, Expression b, bool quotient) {
  const std::pair key{a.node(), b.node()};
  auto known = divisions_.find(key);
  if (known == divisions_.end()) {
    const std::string number = std::to_string(divisions_.size());
    const Expression q = query_.unknown("div " + number);
    const Expression r = query_.unknown("mod " + number);
    query_.add(a == b * q + r);
    query_.add(0 <= r);
    query_.add(r < b);
    known = divisions_.emplace(key, std::pair{q, r}).first;
  }
  return quotient ? known->second.first : known->second.second;
}

// The recursion depth is that of one condition.
std::optional<Expression> GuardQuery::translated(const ir::ExprNode& node) {
  if (const auto known = known_.find(&node); known != known_.end()) return known->second;
  const auto make = [&]() -> std::optional<Expression> {
    if (node.op == ExprOp::kIndexConst) return query_.number(node.integer);
    if (node.op == ExprOp::kSymbol) return query_.unknown(node.name);
    if (node.op == ExprOp::kGuardConst) return query_.truth(node.integer != 0);
    if (node.kids.empty() || node.kids.size() > 2) return std::nullopt;
    const std::vector<const ir::ExprNode*> operands = order_.operands(node);
    const auto a = translated(*operands[0]);
    if (!a) return std::nullopt;
    if (node.op == ExprOp::kNot) return !*a;
    if (node.kids.size() != 2) return std::nullopt;
    const auto b = translated(*operands[1]);
    if (!b) return std::nullopt;
    switch (node.op) {
      case ExprOp::kIndexAdd: return *a + *b;
      case ExprOp::kIndexMul: return *a * *b;
      case ExprOp::kIndexDiv: return quotient_or_remainder(*a, *b, true);
      case ExprOp::kIndexMod: return quotient_or_remainder(*a, *b, false);
      case ExprOp::kIndexMin: return if_else(*a <= *b, *a, *b);
      case ExprOp::kIndexMax: return if_else(*a <= *b, *b, *a);
      case ExprOp::kIndexLe: return *a <= *b;
      case ExprOp::kIndexEq: return *a == *b;
      case ExprOp::kAnd: return *a && *b;
      case ExprOp::kOr: return *a || *b;
      default: return std::nullopt;
    }
  };
  const auto expression = make();
  known_.emplace(&node, expression);
  return expression;
}

}  // namespace egret::verifier
