// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/equations.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

namespace egret::verifier {
namespace {

using Relation = Literal::Relation;

// Solves by elimination and rewriting until no step applies. The facts change after every step, so
// they are normalized again, and the lower bounds of single atoms are collected anew.
class Solver {
 public:
  Solver(AtomTable& atoms, Facts facts) : atoms_(atoms) { result_.facts = std::move(facts); }

  Solved run() && {
    normalize();
    while (raise_bounds() || step()) normalize();
    collect_products();
    return std::move(result_);
  }

 private:
  // Sorts the facts and removes duplicates and trivially true facts. Notes lower bounds.
  void normalize() {
    Facts& facts = result_.facts;
    std::erase_if(facts, [](const Literal& fact) { return obvious(fact) == Truth::kTrue; });
    sort_once(facts);
    // p >= 0 and -p >= 0 become p = 0.
    Facts tight;
    for (const Literal& fact : facts) {
      if (fact.relation == Relation::kNonNegative &&
          std::ranges::binary_search(facts, at_least_zero(-fact.polynomial)))
        tight.push_back(fact);
    }
    if (!tight.empty()) {
      for (Literal& fact : facts) {
        if (std::ranges::binary_search(tight, fact)) fact.relation = Relation::kZero;
      }
      sort_once(facts);
    }
    bounds_.clear();
    for (const Literal& fact : facts) {
      const std::int64_t constant = fact.polynomial.constant();
      const AtomId atom = (fact.polynomial - constant).as_atom();
      if (fact.relation != Relation::kNonNegative || !atom.valid() || constant > 0) continue;
      std::int64_t& bound = bounds_[atom];
      bound = std::max(bound, -constant);
    }
  }

  static void sort_once(Facts& facts) {
    std::ranges::sort(facts);
    facts.erase(std::unique(facts.begin(), facts.end()), facts.end());
  }

  bool at_least(AtomId atom, std::int64_t least) const {
    const auto found = bounds_.find(atom);
    return found != bounds_.end() && found->second >= least;
  }
  bool all_at_least(const Monomial& monomial, std::int64_t least) const {
    return std::ranges::all_of(monomial, [&](AtomId atom) { return at_least(atom, least); });
  }

  // If two products are equal and one is positive, all factors of the other are positive. A factor
  // of 0 would make the other product 0. Each call raises one bound, so the outer loop ends.
  bool raise_bounds() {
    for (const Literal& fact : result_.facts) {
      const Polynomial& p = fact.polynomial;
      if (fact.relation != Relation::kZero || p.terms().size() != 2) continue;
      const auto& [a, x] = *p.terms().begin();
      const auto& [b, y] = *p.terms().rbegin();
      if ((x < 0) == (y < 0)) continue;
      for (const auto& [positive, other] : {std::pair(a, b), std::pair(b, a)}) {
        if (!all_at_least(positive, 1) || !all_at_least(other, 0)) continue;
        const auto low = std::ranges::find_if(other, [&](AtomId one) { return !at_least(one, 1); });
        if (low == other.end()) continue;
        result_.facts.push_back(at_least_zero(Polynomial(*low) - 1));
        return true;
      }
    }
    return false;
  }

  // Collects equations between two products as rewrite rules from the larger to the smaller
  // product.
  void collect_products() {
    for (const Literal& fact : result_.facts) {
      if (fact.relation != Relation::kZero) continue;
      auto rule = product_rule(fact.polynomial);
      if (rule && is_finite(*rule, result_.products)) result_.products.push_back(*std::move(rule));
    }
    for (Literal& fact : result_.facts) {
      if (fact.relation != Relation::kZero)
        fact.polynomial = atoms_.rewrite(fact.polynomial, result_.products);
    }
  }

  // Simplifies or uses up one equation; returns false if none can be. Rules that shrink terms come
  // first: sizes that equal another size or a number, then sizes that must be 1 or 0. Each step
  // makes progress: an elimination removes an atom, a split replaces an equation by smaller ones,
  // and a rewrite leads to a smaller product.
  bool step() {
    const auto eliminate_small = [&](std::size_t i, const Polynomial& p) {
      return is_small(p) && eliminate(i, p, Size::kSmall);
    };
    if (any_equation(eliminate_small)) {
      while (any_equation(eliminate_small)) continue;
      for (Literal& fact : result_.facts)
        fact.polynomial = atoms_.substitute(fact.polynomial, result_.solution);
      return true;
    }
    return any_equation([&](std::size_t i, const Polynomial& p) { return split(i, p); }) ||
           any_equation(
               [&](std::size_t i, const Polynomial& p) { return eliminate(i, p, Size::kAny); }) ||
           any_equation([&](std::size_t i, const Polynomial& p) { return divide(i, p); }) ||
           any_equation([&](std::size_t i, const Polynomial& p) { return reduce_others(i, p); });
  }

  // A remainder of 0: a = b * (a div b). An atom of a becomes a multiple of b, with a new variable
  // as the quotient. This uses up the equation.
  bool divide(std::size_t i, const Polynomial& p) {
    for (const auto& [monomial, coefficient] : p.terms()) {
      for (const AtomId quotient : monomial) {
        if (atoms_[quotient].kind != AtomKind::kQuotient) continue;
        const Atom known = atoms_[quotient];
        const Polynomial remainder = known.a - known.b * Polynomial(quotient);
        if (remainder != p && remainder != -p) continue;
        const auto atom = atom_to_solve_for(known);
        if (!atom) continue;
        const Polynomial variable(atoms_.fresh_variable());
        const std::int64_t sign = known.a.coefficient({*atom});
        const Polynomial rest = known.a - Polynomial(sign) * Polynomial(*atom);
        const bool positive = rest == Polynomial(0) && sign == 1 && at_least(*atom, 1);
        replace_atom(i, *atom, Polynomial(sign) * (known.b * variable - rest), Size::kAny);
        if (positive) result_.facts.push_back(at_least_zero(variable - 1));  // b is positive
        return true;
      }
    }
    return false;
  }

  std::optional<AtomId> atom_to_solve_for(const Atom& quotient) const {
    for (const auto& [monomial, coefficient] : quotient.a.terms()) {
      if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
      const AtomId atom = monomial.front();
      const AtomKind kind = atoms_[atom].kind;
      if (kind != AtomKind::kSymbol && kind != AtomKind::kVariable) continue;
      const Polynomial rest = quotient.a - Polynomial(coefficient) * Polynomial(atom);
      if (!atoms_.occurs(atom, rest) && !atoms_.occurs(atom, quotient.b)) return atom;
    }
    return std::nullopt;
  }

  // Uses an equation between two products to rewrite all other equations to the smaller product.
  // The smaller product has fewer atoms or, with as many, comes first in the order. This order
  // makes the rewriting end.
  bool reduce_others(std::size_t i, const Polynomial& p) {
    const auto rule = product_rule(p);
    if (!rule || !is_finite(*rule, {})) return false;
    for (std::size_t j = 0; j < result_.facts.size(); ++j) {
      Literal& other = result_.facts[j];
      if (j == i || other.relation != Relation::kZero) continue;
      const Polynomial before = other.polynomial;
      other.polynomial = atoms_.rewrite(before, {*rule});
      if (other.polynomial != before) return true;
    }
    return false;
  }

  // The larger and the smaller product of an equation a = b.
  static std::optional<std::pair<Monomial, Monomial>> product_rule(const Polynomial& p) {
    if (p.terms().size() != 2) return std::nullopt;
    const auto& [a, x] = *p.terms().begin();
    const auto& [b, y] = *p.terms().rbegin();
    if (x * y != -1 || a.empty()) return std::nullopt;
    const bool a_larger = std::pair(a.size(), a) > std::pair(b.size(), b);
    return std::pair(a_larger ? a : b, a_larger ? b : a);
  }

  // Whether the monomial occurs inside an atom of the product: in a quotient, say.
  bool occurs_inside(const Monomial& monomial, const Monomial& product) const {
    AtomSet atoms;
    for (const AtomId atom : product) atoms_.collect(Polynomial(atom), atoms);
    const auto in = [&](const Polynomial& polynomial) {
      return std::ranges::any_of(polynomial.terms(), [&](const auto& term) {
        return std::ranges::includes(term.first, monomial);
      });
    };
    return std::ranges::any_of(atoms, [&](AtomId id) {
      const Atom& atom = atoms_[id];
      return in(atom.a) || in(atom.b) || std::ranges::any_of(atom.indices, in);
    });
  }

  // Whether rewriting ends with this rule beside the others. It need not if some rule applies
  // inside an atom of the smaller product of some rule: b*c -> a * (b*c div a) would apply for
  // ever.
  bool is_finite(const std::pair<Monomial, Monomial>& rule,
                 const std::vector<std::pair<Monomial, Monomial>>& others) const {
    return !occurs_inside(rule.first, rule.second) &&
           std::ranges::none_of(others, [&](const auto& other) {
             return occurs_inside(other.first, rule.second) ||
                    occurs_inside(rule.first, other.second);
           });
  }

  // a = b or a = 1. Excludes a + b = 0, which split() may use better.
  static bool is_small(const Polynomial& p) {
    return p.terms().size() == 1 ||
           (p.terms().size() == 2 && p.terms().begin()->second * p.terms().rbegin()->second < 0);
  }

  template <typename Use>
  bool any_equation(const Use& use) {
    for (std::size_t i = 0; i < result_.facts.size(); ++i) {
      if (result_.facts[i].relation != Relation::kZero) continue;
      const Polynomial p = without_common_factors(result_.facts[i].polynomial);
      if (!p.is_constant() && use(i, p)) return true;
    }
    return false;
  }

  // Divides an equation by the common divisor of its coefficients and by common atoms that are
  // known to be positive.
  Polynomial without_common_factors(Polynomial p) const {
    std::int64_t divisor = 0;
    std::optional<Monomial> common;
    for (const auto& [monomial, coefficient] : p.terms()) {
      divisor = std::gcd(divisor, coefficient);
      if (!common) {
        common = monomial;
        continue;
      }
      Monomial both;
      std::ranges::set_intersection(*common, monomial, std::back_inserter(both));
      common = std::move(both);
    }
    if (!common) return p;
    common->erase(std::remove_if(common->begin(), common->end(),
                                 [&](AtomId atom) { return !at_least(atom, 1); }),
                  common->end());
    if (common->empty() && divisor == 1) return p;
    Polynomial result;
    for (const auto& [monomial, coefficient] : p.terms()) {
      Monomial rest;
      std::ranges::set_difference(monomial, *common, std::back_inserter(rest));
      Polynomial term(coefficient / divisor);
      for (const AtomId atom : rest) term = term * Polynomial(atom);
      result = result + term;
    }
    return result;
  }

  void replace(std::size_t i, const Facts& by) {
    result_.facts.erase(result_.facts.begin() + static_cast<std::ptrdiff_t>(i));
    result_.facts.insert(result_.facts.end(), by.begin(), by.end());
  }

  // Splits a product that is 1, or a sum of non-negative terms that is 0, into its parts.
  bool split(std::size_t i, const Polynomial& p) {
    Facts parts;
    const std::int64_t constant = p.constant();
    // The signs are normalized: q has a positive last term.
    const bool positive = p.terms().rbegin()->second > 0;
    const Polynomial q = positive ? p : -p;
    if (q.terms().size() == 2 && q.constant() == -1) {
      const auto& [monomial, coefficient] = *q.terms().rbegin();
      if (coefficient != 1 || monomial.size() < 2 || !all_at_least(monomial, 0)) return false;
      for (const AtomId atom : monomial) parts.push_back(is_zero(Polynomial(atom) - 1));
    } else if (constant == 0 && q.terms().size() >= 2) {
      for (const auto& [monomial, coefficient] : q.terms()) {
        if (coefficient < 0 || !all_at_least(monomial, 0)) return false;
        Polynomial part(1);
        for (const AtomId atom : monomial) part = part * Polynomial(atom);
        parts.push_back(is_zero(std::move(part)));
      }
    } else {
      return false;
    }
    replace(i, parts);
    return true;
  }

  enum class Size : std::uint8_t { kSmall, kAny };

  // Solves an equation for its best atom (see rank()) and substitutes the result. The atom must
  // occur once, with coefficient 1 or -1. Symbols, variables and, for larger equations, quotients
  // qualify.
  bool eliminate(std::size_t i, const Polynomial& p, Size size) {
    AtomId best;
    for (const auto& [monomial, coefficient] : p.terms()) {
      if (monomial.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
      const AtomId atom = monomial.front();
      const AtomKind kind = atoms_[atom].kind;
      const bool free = kind == AtomKind::kSymbol || kind == AtomKind::kVariable;
      if (!free && (kind != AtomKind::kQuotient || size == Size::kSmall)) continue;
      if (atoms_.occurs(atom, p - Polynomial(coefficient) * Polynomial(atom))) continue;
      if (!best.valid() || rank(atom, p) > rank(best, p)) best = atom;
    }
    if (!best.valid()) return false;
    const std::int64_t coefficient = p.coefficient({best});
    const Polynomial rest = p - Polynomial(coefficient) * Polynomial(best);
    replace_atom(i, best, coefficient == 1 ? -rest : rest, size);
    return true;
  }

  // Small equations substitute only into equations; the other facts are updated once after all of
  // them. Earlier solutions get the new value, too, so that no value mentions a replaced atom.
  void replace_atom(std::size_t i, AtomId atom, const Polynomial& value, Size size) {
    // An eliminated quotient leaves its definition as two inequalities.
    const Atom known = atoms_[atom];
    Facts definition;
    if (known.kind == AtomKind::kQuotient) {
      definition.push_back(less_equal(known.b * value, known.a));
      definition.push_back(less(known.a, known.b * value + known.b));
    }
    replace(i, definition);
    const AtomTable::Substitution by{{atom, value}};
    for (Literal& fact : result_.facts) {
      if (size == Size::kAny || fact.relation == Relation::kZero)
        fact.polynomial = atoms_.substitute(fact.polynomial, by);
    }
    for (auto& [other, other_value] : result_.solution)
      other_value = atoms_.substitute(other_value, by);
    result_.solution.insert(*by.begin());
  }

  // The preference for elimination. Quotients first. In an equation between a sum and its parts, a
  // part goes, so that products with the sum stay products. Then indices before sizes, and later
  // atoms before earlier ones.
  std::tuple<bool, bool, bool, AtomId> rank(AtomId atom, const Polynomial& p) const {
    const AtomKind kind = atoms_[atom].kind;
    const bool positive = p.coefficient({atom}) > 0;
    const auto alike = std::ranges::count_if(p.terms(), [&](const auto& term) {
      return !term.first.empty() && (term.second > 0) == positive;
    });
    return {kind == AtomKind::kQuotient, alike > 1, kind == AtomKind::kVariable, atom};
  }

  AtomTable& atoms_;
  Solved result_;
  std::map<AtomId, std::int64_t> bounds_;
};

}  // namespace

Polynomial Solved::apply(AtomTable& atoms, const Polynomial& polynomial) const {
  return atoms.rewrite(atoms.substitute(polynomial, solution), products);
}

Solved solve_equations(AtomTable& atoms, Facts facts) {
  return Solver(atoms, std::move(facts)).run();
}

}  // namespace egret::verifier
