// SPDX-License-Identifier: Apache-2.0
#include "ir/core/symbol_values.h"

#include <algorithm>

namespace egret::ir {
namespace {

// One operation on numbers; `b` is unused where there is one operand.
std::optional<std::int64_t> apply(ExprOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case ExprOp::kIndexAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case ExprOp::kIndexMul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case ExprOp::kIndexDiv:
      if (b <= 0) return std::nullopt;
      return a / b - (a % b < 0 ? 1 : 0);
    case ExprOp::kIndexMod:
      if (b <= 0) return std::nullopt;
      return (a % b + b) % b;
    case ExprOp::kIndexMin: return std::min(a, b);
    case ExprOp::kIndexMax: return std::max(a, b);
    case ExprOp::kIndexLe: return a <= b ? 1 : 0;
    case ExprOp::kIndexEq: return a == b ? 1 : 0;
    case ExprOp::kAnd: return a != 0 && b != 0 ? 1 : 0;
    case ExprOp::kOr: return a != 0 || b != 0 ? 1 : 0;
    case ExprOp::kNot: return a == 0 ? 1 : 0;
    default: return std::nullopt;
  }
}

bool is_constant(ExprOp op) { return op == ExprOp::kIndexConst || op == ExprOp::kGuardConst; }

// The recursion depth is that of size expressions, which definitions bound.
std::optional<std::int64_t> value_of(const ExprNode& n, const SymbolValues& symbols) {
  if (is_constant(n.op)) return n.integer;
  if (n.op == ExprOp::kSymbol) {
    const auto found = symbols.find(n.name);
    return found != symbols.end() ? std::optional(found->second) : std::nullopt;
  }
  if (n.kids.empty() || n.kids.size() > 2) return std::nullopt;
  const auto a = value_of(*n.kids.front(), symbols);
  const auto b = n.kids.size() == 2 ? value_of(*n.kids.back(), symbols) : a;
  return a && b ? apply(n.op, *a, *b) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> evaluate(Index value, const SymbolValues& symbols) {
  return value.is_constant() ? std::optional(value.constant()) : value_of(*value.node(), symbols);
}

std::optional<bool> evaluate(Guard guard, const SymbolValues& symbols) {
  if (guard.is_constant()) return guard.is_true();
  const auto value = value_of(*guard.node(), symbols);
  return value ? std::optional(*value != 0) : std::nullopt;
}

// A flat list of steps, operands before their users. Guards share the steps of equal
// subexpressions.
GuardProgram::GuardProgram(std::span<const Guard> guards) {
  std::map<const ExprNode*, std::size_t> known;
  for (const Guard guard : guards) {
    if (!guard.is_constant()) {
      steps_[add(*guard.node(), known)].is_guard = true;
    } else if (!guard.is_true()) {
      steps_.push_back({.op = ExprOp::kGuardConst, .integer = 0, .is_guard = true});
    }
  }
}

std::size_t GuardProgram::add(const ExprNode& node, std::map<const ExprNode*, std::size_t>& known) {
  if (const auto found = known.find(&node); found != known.end()) return found->second;
  Step step{.op = node.op, .integer = node.integer};
  if (node.op == ExprOp::kSymbol) {
    step.a = names_.size();
    names_.emplace_back(node.name);
  } else if (!node.kids.empty()) {
    step.a = add(*node.kids.front(), known);
    step.b = add(*node.kids.back(), known);
  }
  known.emplace(&node, steps_.size());
  steps_.push_back(step);
  return steps_.size() - 1;
}

bool GuardProgram::holds(const SymbolValues& symbols) const {
  std::vector<std::int64_t> numbers;
  for (const std::string& name : names_) {
    const auto found = symbols.find(name);
    if (found == symbols.end()) return false;
    numbers.push_back(found->second);
  }
  std::vector<std::int64_t> work;
  return hold_for(numbers, work);
}

bool GuardProgram::hold_for(std::span<const std::int64_t> numbers,
                            std::vector<std::int64_t>& work) const {
  work.resize(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (is_constant(step.op)) {
      work[i] = step.integer;
    } else if (step.op == ExprOp::kSymbol) {
      work[i] = numbers[step.a];
    } else {
      const auto value = apply(step.op, work[step.a], work[step.b]);
      if (!value) return false;
      work[i] = *value;
    }
    if (step.is_guard && work[i] == 0) return false;
  }
  return true;
}

}  // namespace egret::ir
