// SPDX-License-Identifier: Apache-2.0
// The part of Equality that splits sums and extrema over ranges.
#include <algorithm>

#include "verifier/algebra/factor_laws.h"
#include "verifier/algebra/range_member.h"
#include "verifier/equality/equality.h"

namespace egret::verifier {
namespace {

bool mentions_any(const AtomTable& atoms, const Polynomial& polynomial,
                  const std::vector<AtomId>& variables) {
  return std::ranges::any_of(variables, [&](AtomId v) { return atoms.occurs(v, polynomial); });
}

// The negation of a literal as mutually exclusive cases.
std::vector<Literal> opposites(const Literal& literal) {
  if (literal.relation != Literal::Relation::kZero) return {negation(literal)};
  return {at_least_zero(literal.polynomial - 1),
          at_least_zero(Polynomial(-1) - literal.polynomial)};
}

// A reduction over a range as a term with the variables of the range, for image_of().
std::optional<Term> as_term(const Factor& factor) {
  if (factor.kind != Factor::Kind::kReduce || factor.arguments.front().terms.size() != 1)
    return std::nullopt;
  const Term& body = factor.arguments.front().terms.front();
  if (!is_plain(body)) return std::nullopt;
  return Term{body.coefficient, factor.variables, factor.guards, body.factors};
}

const Factor* single_factor(const Sum& sum) {
  if (sum.terms.size() != 1) return nullptr;
  const Term& term = sum.terms.front();
  return is_plain(term) && term.factors.size() == 1 ? &term.factors.front() : nullptr;
}

}  // namespace

// A sum over a range of a term that does not vary is the length of the range times the term.
void Equality::count_unused(Term& term, const Facts& facts) {
  for (std::size_t v = 0; v < term.variables.size();) {
    const AtomId variable = term.variables[v];
    // A variable between two bounds, low <= v <= high, that occurs nowhere else has high - low + 1
    // values.
    Polynomial length(1);
    std::vector<Literal> bounds;
    bool simple = std::ranges::none_of(term.factors, [&](const Factor& factor) {
      return occurs(atoms_, variable, factor_sum(factor));
    });
    for (const Literal& guard : term.guards) {
      if (!simple || !atoms_.occurs(variable, guard.polynomial)) continue;
      const std::int64_t scale = guard.polynomial.coefficient({variable});
      const Polynomial rest = guard.polynomial - Polynomial(scale) * Polynomial(variable);
      simple = guard.relation == Literal::Relation::kNonNegative && (scale == 1 || scale == -1) &&
               !mentions_any(atoms_, rest, term.variables);
      length = length + rest;
      bounds.push_back(guard);
    }
    simple = simple && bounds.size() == 2 &&
             bounds[0].polynomial.coefficient({variable}) !=
                 bounds[1].polynomial.coefficient({variable}) &&
             solver_.implies(facts, at_least_zero(length));
    if (!simple) {
      ++v;
      continue;
    }
    std::erase_if(term.guards, [&](const Literal& guard) {
      return std::ranges::find(bounds, guard) != bounds.end();
    });
    term.variables.erase(term.variables.begin() + static_cast<std::ptrdiff_t>(v));
    term.factors.push_back({.kind = Factor::Kind::kIndex, .indices = {length}, .arguments = {}});
  }
}

// Splits the range of an extremum by a guard inside its argument: the extremum is that of both
// parts' extrema, provided that both parts have members.
std::optional<Sum> Equality::extremum_by_parts(const Factor& factor, const Facts& facts) {
  using Reduction = ir::Reduction;
  const bool extremal = factor.reduction == Reduction::kMax || factor.reduction == Reduction::kMin;
  if (without_facts_ || factor.kind != Factor::Kind::kReduce || !extremal) return std::nullopt;
  for (const Term& inner : factor.arguments.front().terms) {
    for (const Literal& guard : inner.guards) {
      if (guard.relation != Literal::Relation::kNonNegative ||
          !mentions_any(atoms_, guard.polynomial, factor.variables) ||
          mentions_any(atoms_, guard.polynomial, inner.variables))
        continue;
      std::vector<Sum> parts;
      for (const Literal& part : {guard, negation(guard)}) {
        Factor one = factor;
        one.guards = both(factor.guards, {part});
        if (!has_member(atoms_, solver_, one.variables, one.guards, facts)) break;
        parts.push_back(renamed(atoms_, factor_sum(std::move(one))));
      }
      if (parts.size() != 2) continue;
      const bool maximum = factor.reduction == Reduction::kMax;
      return lawful(atoms_,
                    Factor{.kind = maximum ? Factor::Kind::kMaximum : Factor::Kind::kMinimum,
                           .arguments = std::move(parts)});
    }
  }
  return std::nullopt;
}

// A guard inside a factor that depends on the term's variables. It splits the term's range.
std::optional<Literal> Equality::inner_guard(const Term& term) const {
  for (const Factor& factor : term.factors) {
    if (factor.kind == Factor::Kind::kReduce) continue;
    for (const Sum& argument : factor.arguments) {
      for (const Term& inner : argument.terms) {
        for (const Literal& guard : inner.guards) {
          if (guard.relation == Literal::Relation::kNonNegative &&
              mentions_any(atoms_, guard.polynomial, term.variables) &&
              !mentions_any(atoms_, guard.polynomial, inner.variables))
            return guard;
        }
      }
    }
  }
  return std::nullopt;
}

// The condition on the variables of `whole` under which it equals the image of `part`, if the reads
// determine it: the part's guards and, for each variable, that it lies in the image.
std::optional<Facts> Equality::image_of(const Term& whole, const Term& part) {
  if (whole.factors.size() != part.factors.size()) return std::nullopt;
  std::vector<Equation> there;
  std::vector<Equation> back;
  for (std::size_t i = 0; i < whole.factors.size(); ++i) {
    if (!may_pair(whole.factors[i], part.factors[i])) return std::nullopt;
    read_equations(whole.factors[i], part.factors[i], there);
  }
  back.reserve(there.size());
  for (const Equation& equation : there) back.push_back({equation.b, equation.a});
  AtomTable::Substitution to_whole;
  AtomTable::Substitution to_part;
  solve(part.variables, there, to_whole);
  solve(whole.variables, back, to_part);
  if (to_whole.size() != part.variables.size()) return std::nullopt;
  Facts image;
  for (const auto& [variable, value] : to_part) {
    const Literal same = verifier::equal(Polynomial(variable), atoms_.substitute(value, to_whole));
    if (obvious(same) != Truth::kTrue) image.push_back(same);
  }
  for (const Literal& guard : part.guards)
    image.push_back({atoms_.substitute(guard.polynomial, to_whole), guard.relation});
  return image;
}

// Matches a term of b with a part of a term of a. The remainder of that term and all other terms
// must be equal again. The complement of a conjunction is split into disjoint cases.
bool Equality::equal_by_parts(const Sum& a, const Sum& b, const Facts& facts, int depth) {
  if (without_facts_ || b.terms.size() < 2) return false;
  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    const Term& whole = a.terms[i];
    for (std::size_t j = 0; j < b.terms.size() && !whole.variables.empty(); ++j) {
      const Term& part = b.terms[j];
      if (whole.coefficient != part.coefficient) continue;
      const auto image = image_of(whole, part);
      if (!image || image->empty() || ++cases_ > options_.cases) continue;
      const Sum restricted = simplified(guarded(Sum{{whole}}, *image), facts, depth + 1);
      if (restricted.terms.size() != 1 || !terms_match(restricted.terms[0], part, facts, depth))
        continue;
      Sum rest_of_a;
      Facts before;
      for (const Literal& condition : *image) {
        for (const Literal& opposite : opposites(condition)) {
          Facts outside = before;
          outside.push_back(opposite);
          rest_of_a = std::move(rest_of_a) + renamed(atoms_, guarded(Sum{{whole}}, outside));
        }
        before.push_back(condition);
      }
      for (std::size_t k = 0; k < a.terms.size(); ++k) {
        if (k != i) rest_of_a = std::move(rest_of_a) + Sum{{a.terms[k]}};
      }
      Sum rest_of_b = b;
      rest_of_b.terms.erase(rest_of_b.terms.begin() + static_cast<std::ptrdiff_t>(j));
      if (equal(std::move(rest_of_a), std::move(rest_of_b), facts, depth + 1)) return true;
    }
  }
  return false;
}

// The extremum over the rest of the range of `whole`, if `part` is the extremum over a part of it
// that has members, and so has the rest. The rest must be one range.
std::optional<Factor> Equality::without_part(const Factor& whole, const Factor& part,
                                             const Facts& facts, int depth) {
  const auto term = as_term(whole);
  const auto of_part = as_term(part);
  if (!term || !of_part || whole.reduction != part.reduction) return std::nullopt;
  const auto image = image_of(*term, *of_part);
  if (!image || image->empty() || ++cases_ > options_.cases) return std::nullopt;
  Factor inside = whole;
  inside.guards = both(whole.guards, *image);
  if (!has_member(atoms_, solver_, inside.variables, inside.guards, facts)) return std::nullopt;
  inside = simplified(inside, facts, depth + 1);
  if (!factors_equal(inside, part, facts, depth + 1)) return std::nullopt;
  std::optional<Factor> rest;
  Facts before;
  for (const Literal& condition : *image) {
    for (const Literal& opposite : opposites(condition)) {
      Factor outside = whole;
      outside.guards = both(whole.guards, before);
      outside.guards.push_back(opposite);
      if (solver_.contradictory(both(facts, outside.guards))) continue;
      if (rest || !has_member(atoms_, solver_, outside.variables, outside.guards, facts))
        return std::nullopt;
      rest = std::move(outside);
    }
    before.push_back(condition);
  }
  return rest;
}

// An extremum over a range against the extremum of several values: one of them is the extremum over
// a part of the range, and the others are together the extremum over the rest.
bool Equality::equal_by_parts_of_extremum(const Sum& a, const Sum& b, const Facts& facts,
                                          int depth) {
  using Kind = Factor::Kind;
  const Factor* whole = single_factor(a);
  const Factor* values = single_factor(b);
  if (without_facts_ || whole == nullptr || values == nullptr || whole->kind != Kind::kReduce ||
      a.terms.front().coefficient != b.terms.front().coefficient)
    return false;
  const bool maxima = whole->reduction == ir::Reduction::kMax && values->kind == Kind::kMaximum;
  const bool minima = whole->reduction == ir::Reduction::kMin && values->kind == Kind::kMinimum;
  if (!maxima && !minima) return false;
  for (std::size_t i = 0; i < values->arguments.size(); ++i) {
    const Factor* part = only_factor(values->arguments[i]);
    if (part == nullptr || part->kind != Kind::kReduce) continue;
    const auto rest = without_part(*whole, *part, facts, depth);
    if (!rest) continue;
    std::vector<Sum> others;
    for (std::size_t k = 0; k < values->arguments.size(); ++k) {
      if (k != i) others.push_back(values->arguments[k]);
    }
    Sum rest_of_b = others.size() == 1
                        ? others.front()
                        : lawful(atoms_, Factor{.kind = values->kind, .arguments = others});
    if (equal(renamed(atoms_, factor_sum(*rest)), std::move(rest_of_b), facts, depth + 1))
      return true;
  }
  return false;
}

}  // namespace egret::verifier
