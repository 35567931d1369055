// SPDX-License-Identifier: Apache-2.0
// The part of Equality that finds bijections between the variables of two sums. It solves the
// equations between the indices at which paired factors read.
#include <algorithm>

#include "verifier/equality/equality.h"

namespace egret::verifier {
namespace {

bool mentions(const AtomTable& atoms, const Polynomial& polynomial,
              const std::vector<AtomId>& variables) {
  return std::ranges::any_of(variables, [&](AtomId v) { return atoms.occurs(v, polynomial); });
}

// The coefficients of the unknowns, which must be linear in each; `rest` has none of them.
struct LinearForm {
  std::vector<std::pair<Polynomial, AtomId>> radices{};
  Polynomial rest{};
};
std::optional<LinearForm> linear_form(const AtomTable& atoms, const std::vector<AtomId>& unknowns,
                                      const Polynomial& polynomial) {
  LinearForm form;
  for (const AtomId v : unknowns) form.radices.emplace_back(Polynomial(), v);
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    Monomial left = monomial;
    Polynomial* to = &form.rest;
    for (auto& [radix, v] : form.radices) {
      const auto place = std::ranges::find(left, v);
      if (place == left.end()) continue;
      left.erase(place);
      to = &radix;
      break;
    }
    Polynomial part(coefficient);
    for (const AtomId atom : left) part = part * Polynomial(atom);
    *to = *to + part;
  }
  bool linear = !mentions(atoms, form.rest, unknowns);
  for (const auto& [radix, v] : form.radices)
    linear = linear && !radix.is_zero() && !mentions(atoms, radix, unknowns);
  return linear ? std::optional(std::move(form)) : std::nullopt;
}

// Unknowns that are the digits of `a` in a system of mixed radix: b = v + n*w + n*m*u + ..., where
// each radix divides the next. That 0 <= v < n and so on is checked with the bijection.
bool solve_digits(AtomTable& atoms, const std::vector<AtomId>& unknowns, const Polynomial& b,
                  const Polynomial& a, AtomTable::Substitution& solution) {
  auto form = linear_form(atoms, unknowns, b);
  if (!form || unknowns.size() < 2) return false;
  auto& radices = form->radices;
  const auto degree = [](const auto& one) {
    std::size_t most = 0;
    for (const auto& [monomial, coefficient] : one.first.terms())
      most = std::max(most, monomial.size());
    return most;
  };
  std::ranges::stable_sort(radices, {}, degree);
  const auto unit =
      std::ranges::find(radices, Polynomial(1), [](const auto& one) { return one.first; });
  if (unit == radices.end()) return false;
  std::rotate(radices.begin(), unit, unit + 1);
  std::vector<Polynomial> ratios;
  for (std::size_t k = 0; k + 1 < radices.size(); ++k) {
    const Division ratio = divide(radices[k + 1].first, radices[k].first);
    // v + w alone says nothing of v: another equation has to.
    if (!ratio.rest.is_zero() || ratio.whole == Polynomial(1)) return false;
    ratios.push_back(ratio.whole);
  }
  const Polynomial number = a - form->rest;
  std::vector<Polynomial> quotients{number};
  // Each of the quotient before it, so that the range of each digit is that of one remainder.
  for (const Polynomial& ratio : ratios)
    quotients.push_back(atoms.quotient(quotients.back(), ratio));
  for (std::size_t k = 0; k < radices.size(); ++k) {
    const bool last = k + 1 == radices.size();
    solution[radices[k].second] = last ? quotients[k] : quotients[k] - ratios[k] * quotients[k + 1];
  }
  return true;
}

}  // namespace

// Expresses the unknowns of the b sides in terms of the a sides. Each round uses one equation: it
// solves for an unknown with coefficient 1 or -1, records the value of a quotient, or splits a
// mixed-radix number into its two digits. If nothing else determines an unknown v whose quotient by
// n is known, v is taken to be a multiple of n. Each round finds a new value, so the loop ends.
void Equality::solve(const std::vector<AtomId>& unknowns, const std::vector<Equation>& equations,
                     AtomTable::Substitution& solution) {
  const auto open = [&](AtomId v) {
    return std::ranges::find(unknowns, v) != unknowns.end() && !solution.contains(v);
  };
  AtomTable::Substitution quotients;  // of unknowns, that an equation gives
  for (bool progress = true; progress;) {
    progress = false;
    for (const Equation& equation : equations) {
      AtomTable::Substitution known = solution;
      known.insert(quotients.begin(), quotients.end());
      const Polynomial b = atoms_.substitute(equation.b, known);
      std::vector<AtomId> inside;
      for (const AtomId v : unknowns) {
        if (open(v) && atoms_.occurs(v, b)) inside.push_back(v);
      }
      if (inside.empty()) continue;
      if (const AtomId atom = b.as_atom();
          atom.valid() && atoms_[atom].kind == AtomKind::kQuotient) {
        progress = quotients.emplace(atom, equation.a).second;
        if (progress) break;
      }
      // A quotient with coefficient 1 or -1, where all other parts are known.
      for (const auto& [monomial, coefficient] : b.terms()) {
        if (progress || monomial.size() != 1 || (coefficient != 1 && coefficient != -1)) continue;
        const AtomId one = monomial.front();
        const Polynomial others = b - Polynomial(coefficient) * Polynomial(one);
        const bool known_others =
            std::ranges::none_of(inside, [&](AtomId v) { return atoms_.occurs(v, others); });
        if (atoms_[one].kind != AtomKind::kQuotient || !known_others) continue;
        const Polynomial total = equation.a - others;
        progress = quotients.emplace(one, coefficient == 1 ? total : -total).second;
      }
      if (progress) break;
      for (const AtomId v : inside) {
        const std::int64_t scale = b.coefficient({v});
        if (scale != 1 && scale != -1) continue;
        const Polynomial rest = b - Polynomial(scale) * Polynomial(v);
        if (atoms_.occurs(v, rest)) continue;
        const Polynomial total = equation.a - rest;
        if (inside.size() == 1) {
          solution[v] = scale == 1 ? total : -total;
          progress = true;
          break;
        }
        if (scale == 1 && solve_digits(atoms_, inside, b, equation.a, solution)) progress = true;
        if (progress) break;
      }
      if (progress) break;
    }
    for (const auto& [id, value] : quotients) {
      if (progress) break;
      const Atom quotient = atoms_[id];
      const AtomId v = quotient.a.as_atom();
      if (!v.valid() || !open(v) || mentions(atoms_, quotient.b, unknowns)) continue;
      solution[v] = quotient.b * value;
      progress = true;
    }
  }
}

// Tries the solution of the equations; if that fails, the pairing of variables in order.
bool Equality::find_bijection(Domain a, Domain b, const std::vector<Equation>& equations,
                              const Facts& facts, Bijection& found) {
  Bijection solved;
  std::vector<Equation> reversed;
  for (const Equation& equation : equations) reversed.push_back({equation.b, equation.a});
  solve(*b.variables, equations, solved.to_a);
  solve(*a.variables, reversed, solved.to_b);
  const bool in_order = solved.to_a.empty() && solved.to_b.empty();
  if (is_bijection(a, b, facts, solved)) {
    found = std::move(solved);
    return true;
  }
  return !in_order && is_bijection(a, b, facts, found);
}

// Pairs terms, factors and guards in order. A wrong pairing makes only the later proof fail.
AtomTable::Substitution Equality::instantiation(const std::vector<AtomId>& unknowns, const Sum& a,
                                                const Sum& b, const Facts& in_a,
                                                const Facts& in_b) {
  std::vector<Equation> equations;
  for (std::size_t i = 0; i < std::min(a.terms.size(), b.terms.size()); ++i) {
    const std::size_t count = std::min(a.terms[i].factors.size(), b.terms[i].factors.size());
    for (std::size_t k = 0; k < count; ++k)
      read_equations(a.terms[i].factors[k], b.terms[i].factors[k], equations);
  }
  for (std::size_t i = 0; i < std::min(in_a.size(), in_b.size()); ++i)
    equations.push_back({in_a[i].polynomial, in_b[i].polynomial});
  AtomTable::Substitution values;
  solve(unknowns, equations, values);
  for (const AtomId unknown : unknowns) values.emplace(unknown, Polynomial(0));
  for (auto& [variable, value] : values) value = atoms_.substitute(value, values);
  return values;
}

// Completes `found` and checks it: each map sends its domain into the other one, and both
// compositions are the identity. These are quantifier-free implications. The search above may guess
// wrong, but only maps that pass this check are used.
bool Equality::is_bijection(Domain a, Domain b, const Facts& facts, Bijection& found) {
  // Variables that no equation determines are paired in order.
  std::vector<AtomId> free_a;
  std::vector<AtomId> free_b;
  for (const AtomId v : *a.variables) {
    if (!found.to_b.contains(v)) free_a.push_back(v);
  }
  for (const AtomId v : *b.variables) {
    if (!found.to_a.contains(v)) free_b.push_back(v);
  }
  if (free_a.size() != free_b.size()) return false;
  for (std::size_t i = 0; i < free_a.size(); ++i) {
    found.to_a[free_b[i]] = Polynomial(free_a[i]);
    found.to_b[free_a[i]] = Polynomial(free_b[i]);
  }
  // A solution may mention other solved variables of its own side; substitutes them.
  const auto settle = [&](AtomTable::Substitution& map) {
    for (auto& [variable, value] : map) value = atoms_.substitute(value, map);
  };
  settle(found.to_a);
  settle(found.to_b);

  const Facts in_a = both(facts, *a.guards);
  const Facts in_b = both(facts, *b.guards);
  const auto carries_over = [&](const Facts& from, const Facts& guards,
                                const AtomTable::Substitution& map) {
    return std::ranges::all_of(guards, [&](const Literal& guard) {
      return implies(from, {atoms_.substitute(guard.polynomial, map), guard.relation});
    });
  };
  const auto undone = [&](const Facts& from, const AtomTable::Substitution& there,
                          const AtomTable::Substitution& back) {
    return std::ranges::all_of(there, [&](const auto& entry) {
      return implies(
          from, verifier::equal(atoms_.substitute(entry.second, back), Polynomial(entry.first)));
    });
  };
  return carries_over(in_a, *b.guards, found.to_a) && carries_over(in_b, *a.guards, found.to_b) &&
         undone(in_b, found.to_a, found.to_b) && undone(in_a, found.to_b, found.to_a);
}

}  // namespace egret::verifier
