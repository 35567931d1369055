// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/polynomial.h"

#include <algorithm>
#include <iterator>

namespace egret::verifier {
namespace {

std::int64_t checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) throw PolynomialOverflow{};
  return result;
}
std::int64_t checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw PolynomialOverflow{};
  return result;
}

Monomial product(const Monomial& a, const Monomial& b) {
  if (a.size() + b.size() > Polynomial::kMostFactors) throw PolynomialOverflow{};
  Monomial result;
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {  // b > 0
  return a / b - (a % b < 0 ? 1 : 0);
}

// Divides a monomial by another: `rest` gets the remaining atoms. Returns false if it is no
// multiple.
bool divide(const Monomial& monomial, const Monomial& factor, Monomial& rest) {
  rest.clear();
  auto next = factor.begin();
  for (const AtomId atom : monomial) {
    if (next != factor.end() && *next == atom) {
      ++next;
    } else {
      rest.push_back(atom);
    }
  }
  return next == factor.end();
}

std::strong_ordering order_of(const Monomial& a, const Monomial& b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

Polynomial::Polynomial(std::int64_t constant) {
  if (constant != 0) terms_.emplace_back(Monomial(), constant);
}
Polynomial::Polynomial(AtomId atom) { terms_.emplace_back(Monomial{atom}, 1); }

std::strong_ordering operator<=>(const Polynomial& a, const Polynomial& b) {
  const std::size_t common = std::min(a.terms_.size(), b.terms_.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (const auto order = order_of(a.terms_[i].first, b.terms_[i].first); order != 0) return order;
    if (const auto order = a.terms_[i].second <=> b.terms_[i].second; order != 0) return order;
  }
  return a.terms_.size() <=> b.terms_.size();
}

bool Polynomial::is_constant() const {
  return terms_.empty() || (terms_.size() == 1 && terms_.front().first.empty());
}

std::int64_t Polynomial::constant() const {
  return !terms_.empty() && terms_.front().first.empty() ? terms_.front().second : 0;
}

std::int64_t Polynomial::coefficient(const Monomial& monomial) const {
  const auto found = std::ranges::lower_bound(
      terms_, monomial, [](const Monomial& x, const Monomial& y) { return order_of(x, y) < 0; },
      [](const auto& term) -> const Monomial& { return term.first; });
  return found != terms_.end() && found->first == monomial ? found->second : 0;
}

AtomId Polynomial::as_atom() const {
  if (terms_.size() != 1) return {};
  const auto& [monomial, coefficient] = terms_.front();
  return monomial.size() == 1 && coefficient == 1 ? monomial.front() : AtomId{};
}

// a + scale * b, by merging the two sorted lists of terms.
Polynomial Polynomial::sum(const Polynomial& a, const Polynomial& b, std::int64_t scale) {
  if (a.terms_.size() + b.terms_.size() > kMostTerms) throw PolynomialOverflow{};
  Terms terms;
  terms.reserve(a.terms_.size() + b.terms_.size());
  auto x = a.terms_.begin();
  for (const auto& [monomial, coefficient] : b.terms_) {
    while (x != a.terms_.end() && order_of(x->first, monomial) < 0) terms.push_back(*x++);
    std::int64_t number = checked_product(coefficient, scale);
    if (x != a.terms_.end() && x->first == monomial) number = checked_sum((x++)->second, number);
    if (number != 0) terms.emplace_back(monomial, number);
  }
  terms.insert(terms.end(), x, a.terms_.end());
  return Polynomial(std::move(terms));
}

// Sorts the terms and adds up those with equal monomials.
Polynomial Polynomial::of_unsorted(Terms terms) {
  std::ranges::sort(terms,
                    [](const auto& x, const auto& y) { return order_of(x.first, y.first) < 0; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (kept > 0 && terms[kept - 1].first == terms[i].first) {
      terms[kept - 1].second = checked_sum(terms[kept - 1].second, terms[i].second);
    } else {
      if (kept > 0 && terms[kept - 1].second == 0) --kept;
      if (kept != i) terms[kept] = std::move(terms[i]);
      ++kept;
    }
  }
  if (kept > 0 && terms[kept - 1].second == 0) --kept;
  terms.resize(kept);
  return Polynomial(std::move(terms));
}

Polynomial operator+(const Polynomial& a, const Polynomial& b) { return Polynomial::sum(a, b, 1); }

Polynomial operator-(const Polynomial& a, const Polynomial& b) { return Polynomial::sum(a, b, -1); }

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  if (a.terms_.size() * b.terms_.size() > Polynomial::kMostTerms) throw PolynomialOverflow{};
  Polynomial::Terms terms;
  terms.reserve(a.terms_.size() * b.terms_.size());
  for (const auto& [m, x] : a.terms_) {
    for (const auto& [n, y] : b.terms_) terms.emplace_back(product(m, n), checked_product(x, y));
  }
  return Polynomial::of_unsorted(std::move(terms));
}

AtomId AtomTable::intern(Atom atom) {
  const auto [entry, is_new] = index_.emplace(std::move(atom), AtomId(atoms_.size()));
  if (is_new) atoms_.push_back(entry->first);
  return entry->second;
}

namespace {

// Division by a sum of several terms. Takes out a multiple only if all its terms cancel, so the
// rest has no more terms than a. This is a restricted form of polynomial division by the leading
// term of b. It visits the terms of a and not those of the rest, so it ends after one pass.
Division divide_by_sum(const Polynomial& a, const Polynomial& b) {
  Division result{0, a};
  const auto& [leading, scale] = *b.terms().rbegin();
  Monomial left;
  for (const auto& [monomial, coefficient] : a.terms()) {
    if (coefficient % scale != 0 || !divide(monomial, leading, left)) continue;
    Polynomial part(coefficient / scale);
    for (const AtomId atom : left) part = part * Polynomial(atom);
    const Polynomial taken = part * b;
    const bool all = std::ranges::all_of(taken.terms(), [&](const auto& term) {
      return result.rest.coefficient(term.first) == term.second;
    });
    if (!all) continue;
    result.whole = result.whole + part;
    result.rest = result.rest - taken;
  }
  return result;
}

}  // namespace

// Division by one term takes out the floor of each coefficient of a multiple. The floor leaves a
// rest whose coefficients are between 0 and the divisor's. Quotients with equal numerators up to
// multiples thus share one atom.
Division divide(const Polynomial& a, const Polynomial& b) {
  Division result{0, a};
  if (b == Polynomial(1)) return {a, 0};
  if (b.terms().size() > 1) return divide_by_sum(a, b);
  if (b.is_zero()) return result;
  const auto& [factor, scale] = *b.terms().begin();
  if (scale <= 0) return result;
  Monomial left;
  for (const auto& [monomial, coefficient] : a.terms()) {
    if (!divide(monomial, factor, left)) continue;
    const std::int64_t times = floor_quotient(coefficient, scale);
    if (times == 0) continue;
    Polynomial part(times);
    for (const AtomId atom : left) part = part * Polynomial(atom);
    result.whole = result.whole + part;
    result.rest = result.rest - part * b;
  }
  return result;
}

// (a div b + t) div c = (a + t*b) div (b*c); nullopt if `numerator` contains no quotient with
// coefficient 1.
std::optional<Polynomial> AtomTable::flattened(const Polynomial& numerator, const Polynomial& c) {
  for (const auto& [monomial, coefficient] : numerator.terms()) {
    if (monomial.size() != 1 || coefficient != 1) continue;
    const Atom inner = atoms_[monomial.front().index()];
    if (inner.kind != AtomKind::kQuotient) continue;
    const Polynomial rest = numerator - Polynomial(monomial.front());
    return quotient(inner.a + rest * inner.b, inner.b * c);
  }
  return std::nullopt;
}

// Quotients have a normal form: multiples of b are taken out, constants are divided, nested
// quotients are flattened. Only the remainder becomes an atom.
Polynomial AtomTable::quotient(const Polynomial& a, const Polynomial& b) {
  auto [whole, rest] = divide(a, b);
  if (rest.is_zero()) return whole;
  if (rest.is_constant() && b.is_constant() && b.constant() > 0)
    return whole + floor_quotient(rest.constant(), b.constant());
  if (const auto flat = flattened(rest, b)) return whole + *flat;
  return whole + Polynomial(intern({.kind = AtomKind::kQuotient, .a = rest, .b = b}));
}

// The operands are ordered, so min(a, b) and min(b, a) are the same atom.
Polynomial AtomTable::minimum(const Polynomial& a, const Polynomial& b) {
  const Polynomial difference = a - b;
  if (difference.is_constant()) return difference.constant() <= 0 ? a : b;
  return Polynomial(intern({.kind = AtomKind::kMinimum, .a = std::min(a, b), .b = std::max(a, b)}));
}

Polynomial AtomTable::maximum(const Polynomial& a, const Polynomial& b) {
  const Polynomial difference = a - b;
  if (difference.is_constant()) return difference.constant() >= 0 ? a : b;
  return Polynomial(intern({.kind = AtomKind::kMaximum, .a = std::min(a, b), .b = std::max(a, b)}));
}

template <typename Change>
Polynomial AtomTable::changed_element(const Atom& atom, const Change& change) {
  std::vector<Polynomial> indices;
  for (const Polynomial& index : atom.indices) indices.push_back(change(index));
  return Polynomial(element(atom.number, std::move(indices)));
}

Polynomial AtomTable::substitute_atom(AtomId id, const Substitution& by) {
  if (const auto found = by.find(id); found != by.end()) return found->second;
  const Atom atom = atoms_[id.index()];  // a copy: the table may grow
  switch (atom.kind) {
    case AtomKind::kSymbol:
    case AtomKind::kVariable: return Polynomial(id);
    case AtomKind::kElement:
      return changed_element(atom, [&](const Polynomial& p) { return substitute(p, by); });
    case AtomKind::kQuotient: return quotient(substitute(atom.a, by), substitute(atom.b, by));
    case AtomKind::kMinimum: return minimum(substitute(atom.a, by), substitute(atom.b, by));
    case AtomKind::kMaximum: return maximum(substitute(atom.a, by), substitute(atom.b, by));
  }
  return Polynomial(id);
}

// Whether a replaced atom occurs. Atoms have greater ids than the atoms inside them, so an atom
// below the smallest replaced one can be skipped.
bool AtomTable::mentions(const Polynomial& polynomial, const Substitution& by) const {
  return std::ranges::any_of(polynomial.terms(), [&](const auto& term) {
    return std::ranges::any_of(term.first, [&](AtomId id) {
      if (id < by.begin()->first) return false;
      if (by.contains(id)) return true;
      const Atom& atom = atoms_[id.index()];
      return mentions(atom.a, by) || mentions(atom.b, by) ||
             std::ranges::any_of(atom.indices,
                                 [&](const Polynomial& index) { return mentions(index, by); });
    });
  });
}

// Terms that do not change are collected and added once at the end. The substitution is
// simultaneous: values are not substituted again. Quotients, minima and maxima are made anew and
// may become simpler.
Polynomial AtomTable::substitute(const Polynomial& polynomial, const Substitution& by) {
  if (by.empty() || !mentions(polynomial, by)) return polynomial;
  Polynomial result;
  Polynomial::Terms same;
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    std::vector<Polynomial> factors;
    bool changed = false;
    for (const AtomId atom : monomial) {
      factors.push_back(substitute_atom(atom, by));
      changed |= factors.back().as_atom() != atom;
    }
    if (!changed) {
      same.emplace_back(monomial, coefficient);
      continue;
    }
    Polynomial term(coefficient);
    for (const Polynomial& factor : factors) term = term * factor;
    result = result + term;
  }
  return result.is_zero() ? Polynomial(std::move(same)) : result + Polynomial(std::move(same));
}

Polynomial AtomTable::rewrite_atom(AtomId id, const Products& products) {
  const Atom atom = atoms_[id.index()];  // a copy: the table may grow
  switch (atom.kind) {
    case AtomKind::kQuotient: return quotient(rewrite(atom.a, products), rewrite(atom.b, products));
    case AtomKind::kMinimum: return minimum(rewrite(atom.a, products), rewrite(atom.b, products));
    case AtomKind::kMaximum: return maximum(rewrite(atom.a, products), rewrite(atom.b, products));
    case AtomKind::kElement:
      return changed_element(atom, [&](const Polynomial& p) { return rewrite(p, products); });
    default: return Polynomial(id);
  }
}

// Rewrites until no product applies. This ends if each pair leads to a smaller product.
Polynomial AtomTable::rewrite(const Polynomial& polynomial, const Products& products) {
  if (products.empty()) return polynomial;
  Polynomial result;
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    Monomial atoms = monomial;
    Monomial rest;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, to] : products) {
        if (!divide(atoms, from, rest)) continue;
        atoms = product(rest, to);
        changed = true;
      }
    }
    Polynomial term(coefficient);
    for (const AtomId atom : atoms) term = term * rewrite_atom(atom, products);
    result = result + term;
  }
  return result;
}

void AtomTable::collect(const Polynomial& polynomial, AtomSet& atoms) const {
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    for (const AtomId id : monomial) {
      if (!atoms.insert(id)) continue;
      const Atom& atom = atoms_[id.index()];
      collect(atom.a, atoms);
      collect(atom.b, atoms);
      for (const Polynomial& index : atom.indices) collect(index, atoms);
    }
  }
}

// The atoms inside an atom have smaller ids, so the search stops at ids below `wanted`.
bool AtomTable::occurs(AtomId wanted, const Polynomial& in) const {
  return std::ranges::any_of(in.terms(), [&](const auto& term) {
    return std::ranges::any_of(term.first, [&](AtomId id) {
      if (id <= wanted) return id == wanted;
      const Atom& atom = atoms_[id.index()];
      return occurs(wanted, atom.a) || occurs(wanted, atom.b) ||
             std::ranges::any_of(atom.indices,
                                 [&](const Polynomial& index) { return occurs(wanted, index); });
    });
  });
}

std::string AtomTable::text(AtomId id) const {
  const Atom& atom = atoms_[id.index()];
  switch (atom.kind) {
    case AtomKind::kSymbol: return atom.name;
    case AtomKind::kVariable: return "i" + std::to_string(atom.number);
    case AtomKind::kQuotient: return "div(" + text(atom.a) + ", " + text(atom.b) + ")";
    case AtomKind::kMinimum: return "min(" + text(atom.a) + ", " + text(atom.b) + ")";
    case AtomKind::kMaximum: return "max(" + text(atom.a) + ", " + text(atom.b) + ")";
    case AtomKind::kElement: {
      std::string at;
      for (const Polynomial& index : atom.indices) at += (at.empty() ? "" : ", ") + text(index);
      return "x" + std::to_string(atom.number) + "[" + at + "]";
    }
  }
  return "";
}

std::string AtomTable::text(const Polynomial& polynomial) const {
  if (polynomial.is_zero()) return "0";
  std::string result;
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    std::string term;
    for (const AtomId atom : monomial) term += (term.empty() ? "" : "*") + text(atom);
    const bool negative = coefficient < 0;
    const std::string size = std::to_string(coefficient).substr(negative ? 1 : 0);
    if (term.empty()) {
      term = size;
    } else if (size != "1") {
      term = size + "*" + term;
    }
    result += result.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    result += term;
  }
  return result;
}

}  // namespace egret::verifier
