// SPDX-License-Identifier: Apache-2.0
#include "parallel/laws/condition_form.h"

#include <string>

#include "parallel/laws/index_arithmetic.h"

namespace egret::parallel {

using ir::ExprOp;

int truth(FormTable& table, bool value) { return table.intern(value ? "true" : "false"); }

// The normal form of left <= right or left == right: the sign of one difference. Interval bounds
// decide most comparisons. The others become interned texts, so equal conditions get equal
// numbers. A condition that depends on the device has no form (NotCut).
int comparison_form(FormTable& table, ExprOp op, const IndexForm& left, const IndexForm& right) {
  const IndexForm difference = difference_form(right, left);
  const bool le = op == ExprOp::kIndexLe;
  // What moves must be so wherever the variable is; what does not, on each block alone.
  const Interval& range = difference.moves != 0 ? difference.global : difference.local;
  if (le && range.low >= 0) return truth(table, true);
  if (le && range.high < 0) return truth(table, false);
  if (!le && (range.low > 0 || range.high < 0)) return truth(table, false);
  if (difference.moves != 0) throw NotCut{};
  const Sum& sum = difference.sum;
  if (sum.is_constant()) return truth(table, le ? sum.constant >= 0 : sum.constant == 0);
  return table.intern((le ? "0<=" : "0==") + sum.text());
}

int negation_form(FormTable& table, int a) {
  if (a == truth(table, true) || a == truth(table, false))
    return truth(table, a == truth(table, false));
  return table.intern("not(" + std::to_string(a) + ")");
}

// Conjunction or disjunction, simplified by the neutral and the decisive truth value.
int joined_form(FormTable& table, ExprOp op, int a, int b) {
  const bool both = op == ExprOp::kAnd;
  const int neutral = truth(table, both);
  const int decisive = truth(table, !both);
  if (a == neutral || a == b) return b;
  if (b == neutral) return a;
  if (a == decisive || b == decisive) return decisive;
  return table.intern((both ? "and(" : "or(") + std::to_string(a) + "," + std::to_string(b) + ")");
}

}  // namespace egret::parallel
