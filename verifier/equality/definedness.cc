// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/definedness.h"

#include <algorithm>
#include <optional>

#include "verifier/algebra/range_member.h"
#include "verifier/algebra/signs.h"

namespace egret::verifier {
namespace {

using Kind = Need::Kind;

constexpr int kMostSplits = 4;

// Scales the sum by a positive number (for divisors, any number) such that its first coefficient
// has absolute value 1.
Sum scaled_to_one(const Sum& sum, bool any_sign) {
  if (sum.is_zero()) return sum;
  const Rational first = sum.terms.front().coefficient;
  return scaled(sum, 1 / (first < 0 && !any_sign ? Rational(-first) : first));
}

// The need of one factor: roots are positive only of positive numbers, and so are reciprocals.
std::optional<Need> of_argument(const Need& need) {
  if (need.argument.terms.size() != 1 || !is_plain(need.argument.terms[0])) return std::nullopt;
  const Term& term = need.argument.terms[0];
  if (term.factors.size() != 1) return std::nullopt;
  const Factor& factor = term.factors[0];
  const bool root = factor.kind == Factor::Kind::kCall && factor.function == ir::Function::kSqrt;
  const bool nonzero = need.kind == Kind::kNonZero || need.kind == Kind::kPositive;
  const bool reciprocal = factor.kind == Factor::Kind::kReciprocal && term.coefficient > 0;
  const bool not_negative = need.kind == Kind::kNotNegative || need.kind == Kind::kPositive;
  if (!(root && nonzero) && !(reciprocal && not_negative)) return std::nullopt;
  Need inside = need;
  inside.kind = Kind::kPositive;
  inside.argument = factor.arguments[0];
  return inside;
}

// Adds consequences of a need. A nonzero product has nonzero factors. A positive product stays
// positive without its positive factors.
void add_parts(const Need& need, std::vector<Need>& all) {
  if ((need.kind != Kind::kNonZero && need.kind != Kind::kPositive) ||
      need.argument.terms.size() != 1 || !is_plain(need.argument.terms[0]))
    return;
  Term rest = need.argument.terms[0];
  std::erase_if(rest.factors, [](const Factor& f) { return sign_of(f) == Sign::kPositive; });
  Need part = need;
  if (rest.coefficient > 0) {
    part.argument = Sum{{rest}};
    all.push_back(part);
  }
  part.kind = Kind::kNonZero;
  for (const Factor& factor : rest.factors) {
    part.argument = factor_sum(factor);
    all.push_back(part);
  }
}

std::vector<Need> with_parts(const std::vector<Need>& needs) {
  std::vector<Need> all = needs;
  for (const Need& need : needs) add_parts(need, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (auto inside = of_argument(all[i])) all.push_back(*std::move(inside));  // smaller each time
  }
  return all;
}

bool suffices(Kind from, Kind wanted) {
  return from == wanted ||
         (from == Kind::kPositive && wanted != Kind::kInDomain && wanted != Kind::kNonEmpty);
}

}  // namespace

const Need* Definedness::unproven(const std::vector<Need>& left, const std::vector<Need>& right,
                                  const Facts& facts, const std::vector<RealOrder>& orders) {
  const std::vector<Need> known = with_parts(left);
  for (const Need& need : right) {
    if (!holds(need, known, facts, orders)) return &need;
  }
  return nullptr;
}

// Proves the need in each case of its context. The terms of a context are disjoint cases. Where the
// context is 0, nothing is needed.
bool Definedness::holds(const Need& need, const std::vector<Need>& left, const Facts& facts,
                        const std::vector<RealOrder>& orders) {
  return std::ranges::all_of(need.context.terms, [&](const Term& context) {
    return holds(need, left, context, both(facts, context.guards), orders, kMostSplits);
  });
}

// Tries, in this order: contradictory facts, signs, factor by factor, instances of the left side's
// needs. Otherwise it splits on a guard that the facts leave open, at most kMostSplits times.
bool Definedness::holds(const Need& need, const std::vector<Need>& left, const Term& context,
                        const Facts& facts, const std::vector<RealOrder>& orders, int splits) {
  if (solver_.contradictory(facts)) return true;
  if (is_obvious(need, facts, orders)) return true;
  if (need.kind == Kind::kNonZero && is_nonzero(need.argument, left, context, facts, orders))
    return true;
  if (std::ranges::any_of(left,
                          [&](const Need& from) { return follows(need, from, context, facts); }))
    return true;
  const Literal* guard = splits > 0 ? open_guard(need, left, facts) : nullptr;
  return guard != nullptr &&
         holds(need, left, context, both(facts, {*guard}), orders, splits - 1) &&
         holds(need, left, context, both(facts, {negation(*guard)}), orders, splits - 1);
}

// A guard in a context of the left side's needs that the facts leave open. Example: whether an
// index lies in the first part of a concatenation.
const Literal* Definedness::open_guard(const Need& need, const std::vector<Need>& left,
                                       const Facts& facts) {
  for (const Need& from : left) {
    if (!suffices(from.kind, need.kind)) continue;
    for (const Term& term : from.context.terms) {
      for (const Literal& guard : term.guards) {
        const bool bound = std::ranges::any_of(
            from.variables, [&](AtomId v) { return atoms_.occurs(v, guard.polynomial); });
        if (!bound && !solver_.implies(facts, guard) && !solver_.implies(facts, negation(guard)))
          return &guard;
      }
    }
  }
  return nullptr;
}

// A product is nonzero if each factor is.
bool Definedness::is_nonzero(const Sum& sum, const std::vector<Need>& left, const Term& context,
                             const Facts& facts, const std::vector<RealOrder>& orders) {
  if (sum.terms.size() != 1 || !is_plain(sum.terms[0]) || sum.terms[0].factors.size() < 2)
    return false;
  return std::ranges::all_of(sum.terms[0].factors, [&](const Factor& factor) {
    const Need part{.kind = Kind::kNonZero, .argument = factor_sum(factor)};
    return factor.kind == Factor::Kind::kReciprocal || is_obvious(part, facts, orders) ||
           std::ranges::any_of(
               left, [&](const Need& from) { return follows(part, from, context, facts); });
  });
}

// Last, real arithmetic refutes the opposite of the need.
bool Definedness::is_obvious(const Need& need, const Facts& facts,
                             const std::vector<RealOrder>& orders) {
  if (need.kind == Kind::kNonEmpty)
    return has_member(atoms_, solver_, need.range, need.guards, facts);
  if (need.kind == Kind::kInDomain) return false;
  if (need.kind == Kind::kNotNegative && sign_of(need.argument) != Sign::kUnknown) return true;
  if (is_positive(need.argument, facts)) return true;
  std::vector<RealOrder> opposite = orders;
  const Sum zero;
  opposite.push_back({need.argument, zero, need.kind == Kind::kNotNegative});
  if (need.kind == Kind::kNonZero) opposite.push_back({zero, need.argument, false});
  return Piecewise(session_, rlimit_).contradictory(opposite);
}

bool Definedness::is_positive(const Factor& factor, const Facts& facts) {
  if (factor.kind == Factor::Kind::kIndex)
    return solver_.implies(facts, at_least_zero(factor.indices[0] - 1));
  if (factor.kind == Factor::Kind::kReciprocal) return is_positive(factor.arguments[0], facts);
  if (factor.kind == Factor::Kind::kCall && factor.function == ir::Function::kSqrt)
    return is_positive(factor.arguments[0], facts);
  return sign_of(factor) == Sign::kPositive;
}

// A sum over a range is positive if its term is positive for all members and the range has one.
bool Definedness::is_positive(const Term& term, const Facts& facts) {
  const Facts inside = both(facts, term.guards);
  return term.coefficient > 0 &&
         std::ranges::all_of(term.factors,
                             [&](const Factor& factor) { return is_positive(factor, inside); }) &&
         has_member(atoms_, solver_, term.variables, term.guards, facts);
}

// A sum is positive if one term is positive and all others are at least 0.
bool Definedness::is_positive(const Sum& sum, const Facts& facts) {
  return std::ranges::any_of(sum.terms,
                             [&](const Term& term) { return is_positive(term, facts); }) &&
         std::ranges::all_of(sum.terms, [&](const Term& term) {
           return sign_of(Sum{{term}}) != Sign::kUnknown ||
                  (term.coefficient > 0 &&
                   std::ranges::all_of(term.factors, [&](const Factor& factor) {
                     return is_positive(factor, both(facts, term.guards));
                   }));
         });
}

// Whether an instance of the left side's need implies this need. The left side's variables are
// instantiated by matching the arguments. The instance must apply in the present context: the facts
// imply its guards, and its truth factors are among those of the context.
bool Definedness::follows(const Need& need, const Need& from, const Term& context,
                          const Facts& facts) {
  if (!suffices(from.kind, need.kind) ||
      (need.kind == Kind::kInDomain && need.function != from.function))
    return false;
  // Renames the left need's variables apart.
  AtomTable::Substitution fresh;
  std::vector<AtomId> unknowns;
  for (const AtomId variable : from.variables) {
    if (fresh.contains(variable)) continue;
    unknowns.push_back(atoms_.fresh_variable());
    fresh[variable] = Polynomial(unknowns.back());
  }
  const Need own = changed(from, [&](const Polynomial& p) { return atoms_.substitute(p, fresh); });
  const bool any_sign = need.kind == Kind::kNonZero;
  const Sum wanted = scaled_to_one(need.argument, any_sign);
  const Sum given = scaled_to_one(own.argument, any_sign);
  const auto values = equality_.instantiation(unknowns, wanted, given, need.guards, own.guards);
  const auto at = [&](const Polynomial& p) { return atoms_.substitute(p, values); };
  const bool in_context =
      std::ranges::any_of(changed(own.context, at).terms, [&](const Term& term) {
        return std::ranges::all_of(term.guards,
                                   [&](const Literal& g) { return solver_.implies(facts, g); }) &&
               std::ranges::all_of(term.factors, [&](const Factor& factor) {
                 return std::ranges::any_of(context.factors, [&](const Factor& other) {
                   return compare(factor, other) == 0;
                 });
               });
      });
  if (!in_context) return false;
  if (need.kind == Kind::kNonEmpty) {
    // The left side's range, paired in order, must be a subset of this range: a superset of a
    // non-empty range is non-empty.
    if (own.range.size() != need.range.size()) return false;
    AtomTable::Substitution to_left;
    for (std::size_t i = 0; i < need.range.size(); ++i)
      to_left[need.range[i]] = Polynomial(own.range[i]);
    Facts inside = facts;
    for (const Literal& guard : own.guards)
      inside.push_back({at(guard.polynomial), guard.relation});
    return std::ranges::all_of(need.guards, [&](const Literal& guard) {
      return solver_.implies(inside,
                             {atoms_.substitute(guard.polynomial, to_left), guard.relation});
    });
  }
  return equality_.prove(wanted, changed(given, at), facts);
}

}  // namespace egret::verifier
