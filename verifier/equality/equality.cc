// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/equality.h"

#include <algorithm>

#include "verifier/algebra/factor_laws.h"

namespace egret::verifier {
namespace {

bool mentions(const AtomTable& atoms, const Polynomial& polynomial,
              const std::vector<AtomId>& variables) {
  return std::ranges::any_of(variables, [&](AtomId v) { return atoms.occurs(v, polynomial); });
}

// The monomial with coefficient, divided by one of its atoms.
Polynomial without(Monomial monomial, std::int64_t coefficient, AtomId atom) {
  monomial.erase(std::ranges::find(monomial, atom));
  Polynomial result(coefficient);
  for (const AtomId other : monomial) result = result * Polynomial(other);
  return result;
}

// The reads and index factors inside a factor, in order.
void collect_reads(const Factor& factor, std::vector<const Factor*>& reads) {
  if (factor.kind == Factor::Kind::kRead || factor.kind == Factor::Kind::kIndex)
    reads.push_back(&factor);
  for (const Sum& argument : factor.arguments) {
    for (const Term& term : argument.terms) {
      for (const Factor& inner : term.factors) collect_reads(inner, reads);
    }
  }
}

}  // namespace

bool Equality::prove(const Sum& left, const Sum& right, const Facts& facts) {
  trace_.clear();
  cases_ = 0;
  real_queries_ = 0;
  const Sum a = renamed(atoms_, left);
  const Sum b = renamed(atoms_, right);
  return compare(a, b) == 0 || alike_without_facts(a, b) || equal(a, b, facts, 0);
}

// Whether the laws of sums and functions alone make both sides alike. No query about indices is
// made, which saves hundreds of queries for nested windows. It is sound: a match of all terms
// proves equality under any facts.
bool Equality::alike_without_facts(const Sum& left, const Sum& right) {
  without_facts_ = true;
  const Sum a = simplified(left, {}, 0);
  const Sum b = simplified(right, {}, 0);
  without_facts_ = false;
  if (a.terms.size() != b.terms.size()) return false;
  std::vector<bool> used(b.terms.size(), false);
  return std::ranges::all_of(a.terms, [&](const Term& term) {
    for (std::size_t i = 0; i < b.terms.size(); ++i) {
      if (used[i] || !alike(atoms_, Sum{{term}}, Sum{{b.terms[i]}})) continue;
      used[i] = true;
      return true;
    }
    return false;
  });
}

// The proof search, cheapest methods first: simplify both sides; split on an open guard; match
// terms one to one; match a sum with its parts; real arithmetic; cases of an extremum. Depth and
// the number of cases are bounded, so the search ends.
bool Equality::equal(Sum a, Sum b, const Facts& facts, int depth) {
  if (depth > options_.depth) return false;
  a = simplified(a, facts, depth);
  b = simplified(b, facts, depth);
  if (compare(a, b) == 0) return true;

  // Splits on an open guard: either it holds or not. An equation or inequation p = 0 has three
  // cases: p = 0, p >= 1, p <= -1. Cases that contradict the facts are skipped.
  if (const Literal* guard = open_guard(a, b); guard != nullptr) {
    if (++cases_ > options_.cases) return false;
    const Literal split = *guard;
    trace_.push_back("case " + text(atoms_, split) + " or not");
    std::vector<Literal> cases{split, negation(split)};
    if (split.relation != Literal::Relation::kNonNegative) {
      const Polynomial& p = split.polynomial;
      cases = {is_zero(p), at_least_zero(p - 1), at_least_zero(Polynomial(-1) - p)};
    }
    return std::ranges::all_of(cases, [&](const Literal& one) {
      Facts inside = both(facts, {one});
      return solver_.contradictory(inside) || equal(a, b, inside, depth);
    });
  }

  // The trace of a failed attempt remains only if all later ones fail, too. It then shows the terms
  // without a match.
  const std::size_t before = trace_.size();
  if (all_matched(a, b, facts, depth)) return true;
  if (equal_by_parts(a, b, facts, depth) || equal_by_parts(b, a, facts, depth)) {
    trace_.resize(before);
    trace_.push_back("a sum by parts: " + text(atoms_, a) + " = " + text(atoms_, b));
    return true;
  }
  if (equal_by_parts_of_extremum(a, b, facts, depth) ||
      equal_by_parts_of_extremum(b, a, facts, depth)) {
    trace_.resize(before);
    trace_.push_back("an extremum by parts: " + text(atoms_, a) + " = " + text(atoms_, b));
    return true;
  }
  if (!equal_as_reals(a, b, facts, depth) && !equal_by_extremum(a, b, facts, depth) &&
      !equal_by_sign(a, b, facts, depth))
    return false;
  trace_.resize(before);
  trace_.push_back("by the order of reals: " + text(atoms_, a) + " = " + text(atoms_, b));
  return true;
}

// Greedy matching: a match is never undone. Terms that match the same term are equal, so the choice
// among them does not change the truth of the rest.
bool Equality::all_matched(const Sum& a, const Sum& b, const Facts& facts, int depth) {
  std::vector<bool> used(b.terms.size(), false);
  for (const Term& term : a.terms) {
    std::size_t partner = 0;
    while (partner < b.terms.size() &&
           (used[partner] || !terms_match(term, b.terms[partner], facts, depth))) {
      ++partner;
    }
    if (partner == b.terms.size()) {
      trace_.push_back("no match for " + text(atoms_, Sum{{term}}));
      return false;
    }
    used[partner] = true;
  }
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) trace_.push_back("no match for " + text(atoms_, Sum{{b.terms[i]}}));
  }
  return std::ranges::all_of(used, [](bool u) { return u; });
}

// A guard without bound variables, which only a case split can decide.
const Literal* Equality::open_guard(const Sum& a, const Sum& b) const {
  for (const Sum* side : {&a, &b}) {
    for (const Term& term : side->terms) {
      for (const Literal& guard : term.guards) {
        if (!mentions(atoms_, guard.polynomial, term.variables)) return &guard;
      }
    }
  }
  return nullptr;
}

// Simplifies quotients, minima and maxima under the facts. The atoms are visited in order of their
// ids, so inner ones come before outer ones. An inner atom that became simpler may decide the outer
// one.
Polynomial Equality::simplified(const Polynomial& polynomial, const Facts& facts) {
  if (without_facts_ || !has_composites(polynomial)) return polynomial;
  AtomSet inside;
  atoms_.collect(polynomial, inside);
  AtomTable::Substitution by;
  for (const AtomId id : inside) {
    const Atom atom = atoms_[id];
    if (atom.kind == AtomKind::kQuotient) {
      by[id] =
          simplified_quotient(atoms_.substitute(atom.a, by), atoms_.substitute(atom.b, by), facts);
    } else if (atom.kind == AtomKind::kMinimum || atom.kind == AtomKind::kMaximum) {
      const Polynomial a = atoms_.substitute(atom.a, by);
      const Polynomial b = atoms_.substitute(atom.b, by);
      const bool minimum = atom.kind == AtomKind::kMinimum;
      if (solver_.implies(facts, less_equal(a, b))) {
        by[id] = minimum ? a : b;
      } else if (solver_.implies(facts, less_equal(b, a))) {
        by[id] = minimum ? b : a;
      }
    }
  }
  return atoms_.substitute(polynomial, by);
}

// Rewrites products in `a` by equations p = q between products, where that creates a multiple of b.
// b must be one monomial. Example: with the fact m*n = p*q, the product m*n*s becomes p*q*s, a
// multiple of p.
Polynomial Equality::with_multiples(const Polynomial& a, const Polynomial& b, const Facts& facts) {
  if (b.terms().size() != 1) return a;
  const Monomial& divisor = b.terms().begin()->first;
  Polynomial result = a;
  for (const Literal& fact : facts) {
    if (fact.relation != Literal::Relation::kZero || fact.polynomial.terms().size() != 2) continue;
    const auto& [p, x] = *fact.polynomial.terms().begin();
    const auto& [q, y] = *fact.polynomial.terms().rbegin();
    if (x * y != -1) continue;
    for (const auto& [from, to] : {std::pair(p, q), std::pair(q, p)}) {
      if (from.empty()) continue;
      const Polynomial before = result;
      for (const auto& [monomial, coefficient] : before.terms()) {
        if (std::ranges::includes(monomial, divisor) || !std::ranges::includes(monomial, from))
          continue;
        Monomial rest;
        std::ranges::set_difference(monomial, from, std::back_inserter(rest));
        Monomial joint;
        std::ranges::merge(rest, to, std::back_inserter(joint));
        if (!std::ranges::includes(joint, divisor)) continue;
        const auto of_monomial = [](const Monomial& product, std::int64_t scale) {
          Polynomial made(scale);
          for (const AtomId atom : product) made = made * Polynomial(atom);
          return made;
        };
        result = result - of_monomial(monomial, coefficient) + of_monomial(joint, coefficient);
      }
    }
  }
  return result;
}

// Simplifies a div b under the facts. First takes out multiples of b. If the rest lies in one of
// the intervals [d*b, (d+1)*b) for d = 0, 1, -1, the quotient is known. Otherwise tries (n*a + r)
// div (n*m) = a div m for 0 <= r < n.
Polynomial Equality::simplified_quotient(const Polynomial& numerator, const Polynomial& b,
                                         const Facts& facts) {
  const Polynomial a = with_multiples(numerator, b, facts);
  const auto [whole, rest] = divide(a, b);
  for (const std::int64_t digit : {0, 1, -1}) {
    const Polynomial left = rest - Polynomial(digit) * b;
    if (solver_.implies(facts, less(left, b)) && solver_.implies(facts, at_least_zero(left)))
      return whole + digit;
  }
  if (b.terms().size() != 1) return atoms_.quotient(a, b);
  // `multiples` is the part of the rest that n divides, so rest = n * multiples + r.
  for (const AtomId n : b.terms().begin()->first) {
    Polynomial multiples;
    for (const auto& [monomial, coefficient] : rest.terms()) {
      if (std::ranges::find(monomial, n) != monomial.end())
        multiples = multiples + without(monomial, coefficient, n);
    }
    const Polynomial r = rest - multiples * Polynomial(n);
    const Polynomial m = without(b.terms().begin()->first, b.terms().begin()->second, n);
    if (multiples.is_zero() || m == Polynomial(1)) continue;
    if (solver_.implies(facts, less(r, Polynomial(n))) && solver_.implies(facts, at_least_zero(r)))
      return whole + simplified_quotient(multiples, m, facts);
  }
  return whole + atoms_.quotient(rest, b);
}

// Whether the polynomial contains quotients, minima or maxima.
bool Equality::has_composites(const Polynomial& polynomial) const {
  return std::ranges::any_of(polynomial.terms(), [&](const auto& term) {
    return std::ranges::any_of(term.first, [&](AtomId atom) {
      const AtomKind kind = atoms_[atom].kind;
      return kind == AtomKind::kQuotient || kind == AtomKind::kMinimum ||
             kind == AtomKind::kMaximum;
    });
  });
}

// Simplifies a factor. Its arguments may use the guards of its range as facts.
Factor Equality::simplified(const Factor& factor, const Facts& facts, int depth) {
  Factor result = factor;
  if (factor.kind == Factor::Kind::kReduce) {
    // Simplifying guards may remove quotients and so make further variables solvable.
    for (bool progress = true; progress;) {
      const AtomTable::Substitution by = eliminate_variables(result.variables, result.guards);
      result.arguments = mapped(
          result.arguments, [&](const Sum& argument) { return substitute(atoms_, argument, by); });
      progress = simplify_guards(result.guards, result.variables, facts) &&
                 determines_one(result.guards, result.variables);
    }
  }
  const Facts inside = both(facts, result.guards);
  for (Polynomial& index : result.indices) index = simplified(index, facts);
  result.arguments = mapped(result.arguments, [&](const Sum& argument) {
    return simplified(argument, inside, depth + 1);
  });
  return result;
}

// Gaussian elimination: a guard v = t replaces v by t everywhere, and the other guards on v become
// guards on t. Returns the substitution. A determined variable has exactly one value for each
// choice of the others. A sum, product or extremum over it therefore equals its body at that value.
// Each step removes a variable, so the loop ends.
AtomTable::Substitution Equality::eliminate_variables(std::vector<AtomId>& variables,
                                                      Facts& guards) {
  AtomTable::Substitution all;
  for (bool progress = true; progress;) {
    progress = false;
    join_bounds(guards);
    for (std::size_t g = 0; g < guards.size() && !progress; ++g) {
      if (guards[g].relation != Literal::Relation::kZero) continue;
      for (std::size_t v = 0; v < variables.size() && !progress; ++v) {
        const auto value = solved_for(variables[v], guards[g].polynomial);
        if (!value) continue;
        const AtomTable::Substitution by{{variables[v], *value}};
        guards.erase(guards.begin() + static_cast<std::ptrdiff_t>(g));
        variables.erase(variables.begin() + static_cast<std::ptrdiff_t>(v));
        for (Literal& guard : guards) guard.polynomial = atoms_.substitute(guard.polynomial, by);
        for (auto& [other, old] : all) old = atoms_.substitute(old, by);
        all.insert(*by.begin());
        progress = true;
      }
    }
  }
  return all;
}

// p >= 0 and -p >= 0 become p = 0.
void Equality::join_bounds(Facts& guards) {
  std::erase_if(guards, [](const Literal& guard) { return obvious(guard) == Truth::kTrue; });
  for (Literal& guard : guards) {
    if (guard.relation != Literal::Relation::kNonNegative) continue;
    const auto other = std::ranges::find(guards, at_least_zero(-guard.polynomial));
    if (other == guards.end()) continue;
    guard.relation = Literal::Relation::kZero;
    *other = guard;  // said twice does no harm
  }
}

// Solves an equation that is linear in the variable with coefficient 1 or -1.
std::optional<Polynomial> Equality::solved_for(AtomId variable, const Polynomial& equation) const {
  const std::int64_t scale = equation.coefficient({variable});
  if (scale != 1 && scale != -1) return std::nullopt;
  const Polynomial rest = equation - Polynomial(scale) * Polynomial(variable);
  if (atoms_.occurs(variable, rest)) return std::nullopt;
  return scale == 1 ? -rest : rest;
}

// Whether some guard is an equation that can be solved for a variable.
bool Equality::determines_one(const Facts& guards, const std::vector<AtomId>& variables) const {
  return std::ranges::any_of(guards, [&](const Literal& guard) {
    return guard.relation == Literal::Relation::kZero &&
           std::ranges::any_of(variables, [&](AtomId variable) {
             return solved_for(variable, guard.polynomial).has_value();
           });
  });
}

// Removes quotients from guards where possible. Removes guards that mention no variable and are
// implied by the facts and the other guards. Returns false if the guards contradict the facts.
bool Equality::simplify_guards(Facts& guards, const std::vector<AtomId>& variables,
                               const Facts& facts) {
  std::ranges::sort(guards);
  if (without_facts_) return true;
  Facts plain = facts;
  std::ranges::copy_if(guards, std::back_inserter(plain),
                       [&](const Literal& guard) { return !has_composites(guard.polynomial); });
  // Only guards without composites serve as facts here. A guard thus never simplifies itself away.
  for (Literal& guard : guards) guard.polynomial = simplified(guard.polynomial, plain);
  std::ranges::sort(guards);
  if (solver_.contradictory(both(facts, guards))) return false;
  for (std::size_t i = 0; i < guards.size();) {
    if (mentions(atoms_, guards[i].polynomial, variables)) {
      ++i;
      continue;
    }
    Facts others = facts;
    for (std::size_t j = 0; j < guards.size(); ++j) {
      if (j != i) others.push_back(guards[j]);
    }
    if (solver_.implies(others, guards[i])) {
      guards.erase(guards.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return true;
}

// Simplifies a term in place. Returns false if the term is 0.
bool Equality::simplify_term(Term& term, const Facts& facts, int depth) {
  do {
    const AtomTable::Substitution by = eliminate_variables(term.variables, term.guards);
    for (Factor& factor : term.factors) factor = substitute(atoms_, factor, by);
    if (!simplify_guards(term.guards, term.variables, facts)) return false;
  } while (determines_one(term.guards, term.variables));
  const Facts inside = both(facts, term.guards);
  for (Factor& factor : term.factors) factor = simplified(factor, inside, depth);
  if (!without_facts_) count_unused(term, facts);
  std::ranges::sort(term.factors,
                    [](const Factor& p, const Factor& q) { return compare(p, q) < 0; });
  return true;
}

// Applies the laws to a term's factors. A reduction without variables and guards is its argument.
Sum Equality::lawful_term(const Term& term, const Facts& facts) {
  Term rest = term;
  rest.factors.clear();
  Sum result{{std::move(rest)}};
  for (const Factor& factor : term.factors) {
    const bool trivial =
        factor.kind == Factor::Kind::kReduce && factor.variables.empty() && factor.guards.empty();
    const auto parts = extremum_by_parts(factor, facts);
    result = product(result, parts     ? *parts
                             : trivial ? factor.arguments.front()
                                       : lawful(atoms_, factor));
  }
  return lawful(atoms_, result);
}

// Simplifies each term, again after every change (the depth is bounded). A guard inside a factor
// splits its term into two, one where the guard holds and one where it does not. Finally joins the
// terms that are alike. The split makes the guard a fact for the whole term, so it then simplifies
// the inside of the factor.
Sum Equality::simplified(const Sum& sum, const Facts& facts, int depth) {
  if (depth > options_.depth) return sum;
  Sum result;
  for (const Term& term : sum.terms) {
    Term copy = term;
    if (!simplify_term(copy, facts, depth)) continue;
    const Sum by_laws = lawful_term(copy, both(facts, copy.guards));
    if (const auto guard = inner_guard(copy); guard && !without_facts_) {
      for (const Literal& part : {*guard, negation(*guard)})
        result = std::move(result) + simplified(guarded(Sum{{copy}}, {part}), facts, depth + 1);
    } else if (compare(by_laws, Sum{{copy}}) == 0) {
      result = std::move(result) + by_laws;
    } else {
      result = std::move(result) + simplified(by_laws, facts, depth + 1);
    }
  }
  return verifier::joined(atoms_, result);
}

// A cheap test on shapes that every pair of equal factors passes.
bool Equality::may_pair(const Factor& a, const Factor& b) {
  return a.kind == b.kind && a.number == b.number && a.function == b.function &&
         a.reduction == b.reduction && a.indices.size() == b.indices.size() &&
         a.arguments.size() == b.arguments.size();
}

// Two factors can be equal if the indices of their reads, paired in order, are equal. These
// equations guide the search for a bijection; they need not be complete, because the result is
// checked.
void Equality::read_equations(const Factor& a, const Factor& b, std::vector<Equation>& equations) {
  std::vector<const Factor*> in_a;
  std::vector<const Factor*> in_b;
  collect_reads(a, in_a);
  collect_reads(b, in_b);
  for (std::size_t i = 0; i < std::min(in_a.size(), in_b.size()); ++i) {
    if (!may_pair(*in_a[i], *in_b[i])) continue;
    for (std::size_t k = 0; k < in_a[i]->indices.size(); ++k)
      equations.push_back({in_a[i]->indices[k], in_b[i]->indices[k]});
  }
}

// Simplifies known quotients in the goal first.
bool Equality::implies(const Facts& facts, const Literal& goal) {
  return solver_.implies(facts, {simplified(goal.polynomial, facts), goal.relation});
}

// Whether two terms are equal by some pairing of their factors. Equal coefficients are required
// because joined() has added up terms that are alike.
bool Equality::terms_match(const Term& a, const Term& b, const Facts& facts, int depth) {
  if (a.coefficient != b.coefficient || a.factors.size() != b.factors.size()) return false;
  std::vector<int> partner(b.factors.size(), -1);
  return pair_factors(a, b, 0, partner, facts, depth);
}

// Backtracks over all pairings of factors of the same shape. The search is exponential in the
// number of factors of one shape, which is small in practice.
bool Equality::pair_factors(const Term& a, const Term& b, std::size_t next,
                            std::vector<int>& partner, const Facts& facts, int depth) {
  if (next == b.factors.size()) return paired_terms_match(a, b, partner, facts, depth);
  for (std::size_t i = 0; i < a.factors.size(); ++i) {
    const bool taken =
        std::find(partner.begin(), partner.begin() + static_cast<std::ptrdiff_t>(next),
                  static_cast<int>(i)) != partner.begin() + static_cast<std::ptrdiff_t>(next);
    if (taken || !may_pair(a.factors[i], b.factors[next])) continue;
    partner[next] = static_cast<int>(i);
    if (pair_factors(a, b, next + 1, partner, facts, depth)) return true;
  }
  return false;
}

// Solves the equations of the paired reads for a bijection between the bound variables, moves the
// factors of b by it, and compares them under a's guards. A bijection between the ranges permutes
// the summands, so the sums are equal if corresponding summands are.
bool Equality::paired_terms_match(const Term& a, const Term& b, const std::vector<int>& partner,
                                  const Facts& facts, int depth) {
  std::vector<Equation> equations;
  for (std::size_t i = 0; i < b.factors.size(); ++i)
    read_equations(a.factors[static_cast<std::size_t>(partner[i])], b.factors[i], equations);
  Bijection bijection;
  if (!find_bijection({&a.variables, &a.guards}, {&b.variables, &b.guards}, equations, facts,
                      bijection)) {
    return false;
  }
  const Facts inside = both(facts, a.guards);
  for (std::size_t i = 0; i < b.factors.size(); ++i) {
    const Factor moved = substitute(atoms_, b.factors[i], bijection.to_a);
    if (!factors_equal(a.factors[static_cast<std::size_t>(partner[i])], moved, inside, depth))
      return false;
  }
  for (const auto& [variable, value] : bijection.to_a) {
    if (!value.as_atom().valid())
      trace_.push_back(atoms_.text(variable) + " := " + atoms_.text(value));
  }
  return true;
}

// The arguments of maxima and minima may match in any order; those of other factors match in their
// order.
bool Equality::arguments_equal(const Factor& a, const Factor& b, const Facts& facts, int depth) {
  const bool ordered = a.kind != Factor::Kind::kMaximum && a.kind != Factor::Kind::kMinimum;
  std::vector<bool> used(b.arguments.size(), false);
  for (std::size_t i = 0; i < a.arguments.size(); ++i) {
    std::size_t j = ordered ? i : 0;
    while (j < b.arguments.size() &&
           (used[j] || !equal(a.arguments[i], renamed(atoms_, b.arguments[j]), facts, depth + 1))) {
      j = ordered ? b.arguments.size() : j + 1;
    }
    if (j == b.arguments.size()) return false;
    used[j] = true;
  }
  return true;
}

// Equal kind, equal indices under the facts, and equal arguments. For reductions, a bijection
// between their ranges must map one body to the other.
bool Equality::factors_equal(const Factor& a, const Factor& b, const Facts& facts, int depth) {
  if (!may_pair(a, b)) return false;
  for (std::size_t i = 0; i < a.indices.size(); ++i) {
    if (!implies(facts, verifier::equal(a.indices[i], b.indices[i]))) return false;
  }
  if (a.kind != Factor::Kind::kReduce) return arguments_equal(a, b, facts, depth);
  std::vector<Equation> equations;
  read_equations(a, b, equations);
  Bijection bijection;
  if (!find_bijection({&a.variables, &a.guards}, {&b.variables, &b.guards}, equations, facts,
                      bijection)) {
    return false;
  }
  return equal(a.arguments[0], substitute(atoms_, b.arguments[0], bijection.to_a),
               both(facts, a.guards), depth + 1);
}

}  // namespace egret::verifier
