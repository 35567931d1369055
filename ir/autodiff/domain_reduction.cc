// SPDX-License-Identifier: Apache-2.0
#include "ir/autodiff/domain_reduction.h"

#include <algorithm>

#include "ir/core/integer_arithmetic.h"

namespace egret::ir::autodiff {

using Kind = NestGuard::Kind;

// Splits a guard into affine conditions, which may restrict the domain, and opaque ones, which
// become masks.
void DomainReduction::assume(int id) {
  const NestGuard& guard = nest_.guard(id);
  switch (guard.kind) {
    case Kind::kTrue: return;
    case Kind::kFalse: empty_ = true; return;
    case Kind::kLe: conditions_.push_back({guard.form, false}); return;
    case Kind::kEq: conditions_.push_back({guard.form, true}); return;
    case Kind::kAnd:
      assume(guard.a);
      assume(guard.b);
      return;
    default: opaque_.push_back(id); return;
  }
}

// Termination: each narrow() that changes something removes a condition, each promote() adds one of
// finitely many quotients to the domain, and each eliminate() removes a variable.
bool DomainReduction::run(bool divisions) {
  // To a fixed point, cheapest step first: a narrowed range may decide other conditions, and each
  // elimination adds bounds of the removed variable.
  for (bool changed = true; changed && !empty_;) {
    changed = narrow();
    for (std::size_t i = 0; !changed && divisions && i < conditions_.size(); ++i) {
      changed = promote(conditions_[i]);
    }
    for (std::size_t i = 0; !changed && i < conditions_.size(); ++i) changed = eliminate(i);
  }
  if (!empty_) drop_fixed_variables();
  return !empty_;
}

// Conditions on one variable become its range; those that hold or fail anyway disappear.
bool DomainReduction::narrow() {
  bool changed = false;
  for (std::size_t i = 0; i < conditions_.size();) {
    const Condition& condition = conditions_[i];
    const Affine& form = condition.form;
    const Range range = range_of(form, nest_, domain_);
    const bool holds = condition.equality ? range.low == 0 && range.high == 0 : range.high <= 0;
    const bool fails = condition.equality ? range.low > 0 || range.high < 0 : range.low > 0;
    if (fails) empty_ = true;
    const bool single =
        !condition.equality && form.parts.size() == 1 && domain_.contains(form.parts[0].symbol);
    if (!holds && !fails && !single) {
      ++i;
      continue;
    }
    // factor * v + constant <= 0 bounds v from above or below, rounded to an integer.
    if (single && !holds && !fails) {
      const std::int64_t factor = form.parts[0].factor;
      Range& of = domain_.at(form.parts[0].symbol);
      if (factor > 0) {
        of.high = std::min(of.high, euclidean_div(-form.constant, factor));
      } else {
        of.low = std::max(of.low, -euclidean_div(-form.constant, -factor));
      }
      if (of.low > of.high) empty_ = true;
    }
    conditions_.erase(conditions_.begin() + static_cast<std::ptrdiff_t>(i));
    changed = true;
  }
  return changed && !empty_;
}

// A condition t == d * (t div d) says that d divides t. Makes t div d a variable; the condition can
// then eliminate a variable of t.
bool DomainReduction::promote(Condition& condition) {
  if (!condition.equality) return false;
  for (const auto& part : condition.form.parts) {
    const IndexSymbol& symbol = nest_.symbol(part.symbol);
    if (symbol.kind != IndexSymbol::Kind::kDiv || !symbol.b.is_constant() ||
        domain_.contains(part.symbol)) {
      continue;
    }
    const Affine exact = symbol.a - Affine::of_symbol(part.symbol) * symbol.b.constant;
    if (!(condition.form == exact || condition.form == exact * -1)) continue;
    domain_[part.symbol] = symbol.range;
    promoted_.insert(part.symbol);
    return true;
  }
  return false;
}

bool DomainReduction::target_needs(int variable) const {
  const VariableSet self = nest_.symbol(variable).depends;
  return std::ranges::any_of(*target_, [&](const Affine& axis) {
    return std::ranges::any_of(axis.parts, [&](const auto& part) {
      return part.symbol == variable ||
             (!domain_.contains(part.symbol) && (nest_.symbol(part.symbol).depends & self) != 0);
    });
  });
}

// Removes a variable v with coefficient 1 or -1 in an equality. Its range becomes two conditions on
// the expression that replaces it.
bool DomainReduction::eliminate(std::size_t at) {
  const Condition condition = conditions_[at];
  if (!condition.equality) return false;
  for (const auto& part : condition.form.parts) {
    const int variable = part.symbol;
    if (!domain_.contains(variable) || promoted_.contains(variable) || std::abs(part.factor) != 1 ||
        target_needs(variable)) {
      continue;
    }
    // form = part.factor * v + rest = 0 gives v = -part.factor * rest, since the factor is 1 or -1.
    const Affine own = Affine::of_symbol(variable) * part.factor;
    const Affine by = (condition.form - own) * -part.factor;
    const VariableSet self = nest_.symbol(variable).depends;
    // An expression that depends on v itself, through a symbol, cannot replace v.
    const bool circular = std::ranges::any_of(by.parts, [&](const auto& p) {
      return !promoted_.contains(p.symbol) && (nest_.symbol(p.symbol).depends & self) != 0;
    });
    if (circular) continue;
    const Range range = domain_.at(variable);
    domain_.erase(variable);
    conditions_.erase(conditions_.begin() + static_cast<std::ptrdiff_t>(at));
    substitute(variable, by);
    conditions_.push_back({Affine(range.low) - by, false});
    conditions_.push_back({by - Affine(range.high), false});
    return true;
  }
  return false;
}

// Replaces the variable everywhere, also in earlier replacements: these stay free of eliminated
// variables.
void DomainReduction::substitute(int variable, const Affine& by) {
  const auto replace = [&](Affine& form) {
    const std::int64_t factor = form.factor(variable);
    if (factor != 0) form = form - Affine::of_symbol(variable) * factor + by * factor;
  };
  for (auto* forms : tracked_) std::ranges::for_each(*forms, replace);
  for (Condition& condition : conditions_) replace(condition.form);
  for (auto& [other, form] : replaced_) replace(form);
  replaced_[variable] = by;
}

// A variable of one value is a number.
void DomainReduction::drop_fixed_variables() {
  for (auto it = domain_.begin(); it != domain_.end();) {
    if (it->second.low != it->second.high) {
      ++it;
      continue;
    }
    const int variable = it->first;
    const Affine value(it->second.low);
    it = domain_.erase(it);
    promoted_.erase(variable);
    substitute(variable, value);
  }
}

}  // namespace egret::ir::autodiff
