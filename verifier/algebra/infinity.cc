// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/infinity.h"

#include <algorithm>

#include "verifier/algebra/factor_laws.h"
#include "verifier/algebra/need.h"

namespace egret::verifier {
namespace {

using Kind = Factor::Kind;

[[noreturn]] void refuse() { throw NotExpressible{"an infinite number"}; }

Facts possible(const Facts& a, const Facts& b) {
  Facts all = both(a, b);
  std::erase_if(all, [](const Literal& fact) { return obvious(fact) == Truth::kTrue; });
  return all;
}

// The guards of a truth value that is a conjunction of guards alone.
const Facts& conjunction(const Sum& truth) {
  const bool simple = truth.terms.size() == 1 && truth.terms[0].coefficient == 1 &&
                      truth.terms[0].variables.empty() && truth.terms[0].factors.empty();
  if (!simple) refuse();
  return truth.terms[0].guards;
}

Extended negated(Extended extended) {
  return {std::move(extended.where), scaled(std::move(extended.value), -1), -extended.sign};
}

// The maximum of values that may be minus infinity. Plus infinity is a value like others only if it
// is so at the places of one of them.
Sum maximum(AtomTable& atoms, const Sum& a, const Sum& b) {
  const auto of_finite = [&](const Sum& x, const Sum& y) {
    return lawful(atoms, Factor{.kind = Kind::kMaximum, .arguments = {x, y}});
  };
  const auto x = as_extended(a);
  const auto y = as_extended(b);
  if (!x && !y) return of_finite(a, b);
  if (!x) return maximum(atoms, b, a);
  if (!y && x->sign < 0) {
    return lawful(atoms, guarded(of_finite(x->value, b), x->where) +
                             product(where_not(x->where), renamed(atoms, b)));
  }
  if (!y) return as_sum({x->where, of_finite(x->value, b), x->sign});
  if (x->sign < 0 && x->is_infinite()) return b;
  if (y->sign < 0 && y->is_infinite()) return a;
  if (x->sign != y->sign) refuse();
  if (x->sign > 0) return as_sum({possible(x->where, y->where), of_finite(x->value, y->value), 1});
  if (x->where != y->where) refuse();
  return as_sum({x->where, of_finite(x->value, y->value), -1});
}

}  // namespace

bool Extended::is_infinite() const { return impossible(where); }

std::optional<Extended> as_extended(const Sum& sum) {
  if (sum.terms.size() != 1 || !is_plain(sum.terms[0])) return std::nullopt;
  const Term& term = sum.terms[0];
  if (term.factors.size() != 1 || term.factors[0].kind != Kind::kFiniteWhere) return std::nullopt;
  const Factor& factor = term.factors[0];
  const bool turned = term.coefficient < 0;
  return Extended{factor.guards, scaled(factor.arguments[0], turned ? -1 : 1), turned ? 1 : -1};
}

Sum as_sum(Extended extended) {
  if (extended.sign > 0) return scaled(as_sum(negated(std::move(extended))), -1);
  if (extended.where.empty()) return std::move(extended.value);
  if (extended.is_infinite()) extended = {{at_least_zero(-1)}, {}, -1};
  std::ranges::sort(extended.where);
  return factor_sum({.kind = Kind::kFiniteWhere,
                     .arguments = {std::move(extended.value)},
                     .guards = std::move(extended.where)});
}

Sum infinity(int sign) { return as_sum({{at_least_zero(-1)}, {}, sign}); }

const Sum& require_finite(const Sum& sum) {
  if (as_extended(sum)) refuse();
  return sum;
}

Sum extended_sum(const Sum& a, const Sum& b) {
  const auto x = as_extended(a);
  const auto y = as_extended(b);
  if (!x && !y) return a + b;
  if (!x) return extended_sum(b, a);
  if (!y) return as_sum({x->where, x->value + b, x->sign});
  if (x->sign != y->sign) refuse();
  return as_sum({possible(x->where, y->where), x->value + y->value, x->sign});
}

// Only by a number: the sign of other factors is not known.
Sum extended_product(AtomTable& atoms, const Sum& a, const Sum& b) {
  const auto x = as_extended(a);
  const auto y = as_extended(b);
  if (!x && !y) return lawful(atoms, product(a, b));
  if (!x) return extended_product(atoms, b, a);
  const auto number = number_of(b);
  if (y || !number || *number == 0) refuse();
  return as_sum({x->where, scaled(x->value, *number), *number > 0 ? x->sign : -x->sign});
}

Sum extended_choice(const Sum& holds, const Sum& fails, const Sum& a, const Sum& b) {
  const auto x = as_extended(a);
  const auto y = as_extended(b);
  if (x && y && x->sign != y->sign) refuse();
  if (y && y->is_infinite())
    return as_sum(
        {possible(x ? x->where : Facts(), conjunction(holds)), x ? x->value : a, y->sign});
  if (x && x->is_infinite()) return extended_choice(fails, holds, b, a);
  if (!x || !y || x->where != y->where) refuse();
  return as_sum({x->where, product(holds, x->value) + product(fails, y->value), x->sign});
}

Sum extended_extremum(AtomTable& atoms, Kind kind, const Sum& a, const Sum& b) {
  if (kind == Kind::kMaximum) return maximum(atoms, a, b);
  if (as_extended(a) || as_extended(b))
    return scaled(maximum(atoms, scaled(a, -1), scaled(b, -1)), -1);
  return lawful(atoms, Factor{.kind = kind, .arguments = {a, b}});
}

Sum extended_exponential(AtomTable& atoms, const Sum& exponent) {
  const auto of_finite = [&](const Sum& x) {
    return lawful(atoms,
                  Factor{.kind = Kind::kCall, .function = ir::Function::kExp, .arguments = {x}});
  };
  const auto x = as_extended(exponent);
  if (!x) return of_finite(exponent);
  if (x->sign > 0) refuse();
  return guarded(of_finite(x->value), x->where);
}

Sum with_opaque_infinity(const Sum& sum) {
  const auto x = as_extended(sum);
  if (!x) return sum;
  return guarded(x->value, x->where) + product(where_not(x->where), infinity(x->sign));
}

Sum where_not(const Facts& facts) {
  Sum result;
  Facts before;
  for (const Literal& fact : facts) {
    Facts one = before;
    one.push_back(negation(fact));
    result = std::move(result) + guarded(constant_sum(1), one);
    before.push_back(fact);
  }
  return result;
}

}  // namespace egret::verifier
