// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/extremum_laws.h"

#include <algorithm>
#include <optional>

#include "verifier/algebra/factor_laws.h"
#include "verifier/algebra/signs.h"

namespace egret::verifier {
namespace {

using Kind = Factor::Kind;

// Whether this value can be dropped: another value, or the mean of two others, is at least as
// extreme. max(a, b) >= (a + b) / 2, so a mean that dominates suffices.
bool is_dominated(Kind kind, const std::vector<Sum>& values, std::size_t candidate) {
  const auto beyond = [&](const Sum& other) {
    const Sum& value = values[candidate];
    const Sum excess = kind == Kind::kMaximum ? difference(other, value) : difference(value, other);
    return sign_of(excess) != Sign::kUnknown;
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == candidate) continue;
    if (beyond(values[i])) return true;
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      if (j != candidate && beyond(scaled(values[i] + values[j], Rational(1, 2)))) return true;
    }
  }
  return false;
}

// The positive number by which all values are divided, for a canonical scale: the absolute
// coefficient of the first term with factors, or 1.
Rational common_scale(const std::vector<Sum>& values) {
  for (const Sum& value : values) {
    for (const Term& term : value.terms) {
      if (!term.factors.empty())
        return term.coefficient < 0 ? Rational(-term.coefficient) : term.coefficient;
    }
  }
  return 1;
}

// The common function of all values, if each is a call of the same monotone unary function.
const ir::FunctionFacts* common_function(const std::vector<Sum>& values) {
  const ir::FunctionFacts* common = nullptr;
  for (const Sum& value : values) {
    const Factor* only = only_factor(value);
    if (only == nullptr || only->kind != Kind::kCall || only->arguments.size() != 1) return nullptr;
    const ir::FunctionFacts& facts = ir::facts(only->function);
    if (facts.monotone == ir::Monotone::kNo || (common != nullptr && common != &facts))
      return nullptr;
    common = &facts;
  }
  return common;
}

}  // namespace

// Flattens nested extrema, drops dominated values, extracts a common scale, moves a common monotone
// function outside, and sorts.
Sum extremum(AtomTable& atoms, Factor factor) {
  std::vector<Sum> values;
  for (const Sum& argument : factor.arguments) {
    const Factor* only = only_factor(argument);
    if (only != nullptr && only->kind == factor.kind) {
      values.insert(values.end(), only->arguments.begin(), only->arguments.end());
    } else {
      values.push_back(argument);
    }
  }
  for (std::size_t i = 0; i < values.size() && values.size() > 1;) {
    if (is_dominated(factor.kind, values, i)) {
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;
    } else {
      ++i;
    }
  }
  if (values.size() == 1) return values.front();
  const Rational scale = common_scale(values);
  for (Sum& value : values) value = scaled(std::move(value), 1 / scale);
  if (const ir::FunctionFacts* common = common_function(values); common != nullptr) {
    const bool turn = common->monotone == ir::Monotone::kDecreasing;
    for (Sum& value : values) value = Sum(only_factor(value)->arguments[0]);
    if (turn) factor.kind = factor.kind == Kind::kMaximum ? Kind::kMinimum : Kind::kMaximum;
    factor.arguments = std::move(values);
    const Sum inside = extremum(atoms, std::move(factor));
    return scaled(
        lawful(atoms,
               Factor{.kind = Kind::kCall, .function = common->function, .arguments = {inside}}),
        scale);
  }
  std::ranges::sort(values, [](const Sum& x, const Sum& y) { return compare(x, y) < 0; });
  factor.arguments = std::move(values);
  return scaled(factor_sum(std::move(factor)), scale);
}

namespace {

// A reduction of reductions of its kind is one over both ranges.
void join_inner(Factor& factor) {
  const Factor* only = only_factor(factor.arguments[0]);
  if (only == nullptr || only->kind != Kind::kReduce || only->reduction != factor.reduction) return;
  const Factor inner = *only;
  factor.arguments = inner.arguments;
  factor.variables.insert(factor.variables.end(), inner.variables.begin(), inner.variables.end());
  factor.guards = both(factor.guards, inner.guards);
}

// The least or the greatest index v where 0 <= v < n: 0 or n - 1.
std::optional<Factor> end_of_range(const AtomTable& atoms, const Factor& factor) {
  const Factor* only = only_factor(factor.arguments[0]);
  if (only == nullptr || only->kind != Kind::kIndex || factor.variables.size() != 1 ||
      factor.guards.size() != 2)
    return std::nullopt;
  const Polynomial variable(factor.variables[0]);
  const Literal low = at_least_zero(variable);
  const auto at = std::ranges::find(factor.guards, low);
  if (only->indices[0] != variable || at == factor.guards.end()) return std::nullopt;
  const Literal& other = factor.guards[at == factor.guards.begin() ? 1 : 0];
  const Polynomial last = other.polynomial + variable;
  const bool bounds = other.relation == Literal::Relation::kNonNegative &&
                      other.polynomial.coefficient({factor.variables[0]}) == -1 &&
                      !atoms.occurs(factor.variables[0], last);
  if (!bounds) return std::nullopt;
  return Factor{.kind = Kind::kIndex,
                .indices = {factor.reduction == ir::Reduction::kMin ? Polynomial(0) : last},
                .arguments = {}};
}

}  // namespace

// Over a range that has an element, terms that do not vary, numbers and increasing functions move
// out. A decreasing function or a negative number turns a maximum into a minimum.
Sum extremum_over_range(AtomTable& atoms, Factor factor) {
  using ir::Reduction;
  const bool extremal = factor.reduction == Reduction::kMax || factor.reduction == Reduction::kMin;
  if (factor.reduction == Reduction::kProd) join_inner(factor);
  if (!extremal) return factor_sum(std::move(factor));
  if (const auto end = end_of_range(atoms, factor)) return lawful(atoms, *end);
  const auto turned = [&](bool turn) {
    if (!turn) return factor.reduction;
    return factor.reduction == Reduction::kMax ? Reduction::kMin : Reduction::kMax;
  };
  Sum fixed;
  Sum varying;
  for (const Term& term : factor.arguments[0].terms) {
    const bool varies = std::ranges::any_of(
        factor.variables, [&](AtomId v) { return occurs(atoms, v, Sum{{term}}); });
    (varies ? varying : fixed).terms.push_back(term);
  }
  if (varying.is_zero()) return fixed;
  const Rational scale = varying.terms.size() == 1 ? varying.terms[0].coefficient : Rational(1);
  factor.reduction = turned(scale < 0);
  factor.arguments = {scaled(varying, 1 / scale)};
  const Factor* only = only_factor(factor.arguments[0]);
  Sum inside;
  if (only != nullptr && only->kind == Kind::kCall && only->arguments.size() == 1 &&
      ir::facts(only->function).monotone != ir::Monotone::kNo) {
    Factor outer = *only;
    factor.reduction = turned(ir::facts(outer.function).monotone == ir::Monotone::kDecreasing);
    factor.arguments = outer.arguments;
    outer.arguments = {extremum_over_range(atoms, std::move(factor))};
    inside = lawful(atoms, std::move(outer));
  } else {
    join_inner(factor);
    inside = factor_sum(std::move(factor));
  }
  return std::move(fixed) + scaled(std::move(inside), scale);
}

}  // namespace egret::verifier
