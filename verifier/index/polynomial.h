// SPDX-License-Identifier: Apache-2.0
// Index expressions as integer polynomials over atoms. In this form most equal expressions are
// structurally equal. Solver queries are made from it.
//
// An atom is a size, an index variable, a quotient of polynomials, a minimum or maximum, or an
// integer element of a tensor. Atoms are interned, so a polynomial is a sorted list of (monomial,
// coefficient) and equality is comparison. Remainders become a - b * (a div b). A quotient whose
// numerator has multiples of its denominator is split: (q*s + r) div q becomes s + r div q. A
// nested quotient is flattened: (a div b) div c becomes a div (b*c).
//
// Coefficients have 64 bits, and a polynomial has at most Polynomial::kMostTerms terms of at most
// kMostFactors atoms each: products of sums grow without end. What exceeds that throws
// PolynomialOverflow, which ends the proof attempt and never leaves this folder.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/small_vector.h"

namespace egret::verifier {

using AtomId = base::Id<struct AtomIdTag>;

struct PolynomialOverflow {};

// A sorted product of atoms; powers are repetitions. Empty: 1.
using Monomial = base::SmallVector<AtomId, 4>;

class Polynomial {
 public:
  static constexpr std::size_t kMostTerms = 1 << 14;
  static constexpr std::size_t kMostFactors = 1 << 10;

  Polynomial() = default;
  Polynomial(std::int64_t constant);  // NOLINT: implicit as in arithmetic
  explicit Polynomial(AtomId atom);

  bool is_constant() const;
  std::int64_t constant() const;  // the coefficient of 1
  bool is_zero() const { return terms_.empty(); }
  // The atom, if the polynomial is exactly one atom.
  AtomId as_atom() const;  // invalid otherwise
  std::int64_t coefficient(const Monomial& monomial) const;

  // Monomials in ascending order, each once, none with coefficient 0.
  using Terms = std::vector<std::pair<Monomial, std::int64_t>>;
  const Terms& terms() const { return terms_; }

  friend Polynomial operator+(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  friend Polynomial operator-(const Polynomial& a) { return Polynomial(0) - a; }
  friend bool operator==(const Polynomial&, const Polynomial&) = default;
  friend std::strong_ordering operator<=>(const Polynomial& a, const Polynomial& b);

 private:
  friend class AtomTable;
  explicit Polynomial(Terms terms) : terms_(std::move(terms)) {}
  // a + scale * b.
  static Polynomial sum(const Polynomial& a, const Polynomial& b, std::int64_t scale);
  static Polynomial of_unsorted(Terms terms);

  Terms terms_;
};

// a = whole * b + rest, by syntactic division. It takes out multiples of a divisor that is one
// monomial with a positive coefficient, or multiples of a sum whose terms all cancel. a div b =
// whole + rest div b.
struct Division {
  Polynomial whole, rest;
};
Division divide(const Polynomial& a, const Polynomial& b);

enum class AtomKind : std::uint8_t { kSymbol, kVariable, kQuotient, kMinimum, kMaximum, kElement };

struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  std::string name{};                 // kSymbol
  std::int64_t number{};              // kVariable: which; kElement: of which tensor
  Polynomial a{}, b{};                // kQuotient: a div b; kMinimum and kMaximum, a < b
  std::vector<Polynomial> indices{};  // kElement
  friend auto operator<=>(const Atom&, const Atom&) = default;
};

// A set of atoms in ascending order.
class AtomSet {
 public:
  bool insert(AtomId atom) {  // whether it is new
    const auto place = std::lower_bound(atoms_.begin(), atoms_.end(), atom);
    if (place != atoms_.end() && *place == atom) return false;
    atoms_.insert(place, atom);
    return true;
  }
  bool contains(AtomId atom) const {
    return std::binary_search(atoms_.begin(), atoms_.end(), atom);
  }
  const AtomId* begin() const { return atoms_.data(); }
  const AtomId* end() const { return atoms_.data() + atoms_.size(); }

 private:
  base::SmallVector<AtomId, 16> atoms_;
};

// Owns the atoms. Ids grow in order of creation, so the atoms inside an atom have smaller ids.
class AtomTable {
 public:
  AtomId symbol(const std::string& name) {
    return intern({.kind = AtomKind::kSymbol, .name = name});
  }
  AtomId fresh_variable() { return intern({.kind = AtomKind::kVariable, .number = variables_++}); }
  // An integer element of a tensor.
  AtomId element(std::int64_t tensor, std::vector<Polynomial> indices) {
    return intern({.kind = AtomKind::kElement, .number = tensor, .indices = std::move(indices)});
  }
  // Simplifies where no facts are needed. The divisor is assumed to be positive.
  Polynomial quotient(const Polynomial& a, const Polynomial& b);
  Polynomial remainder(const Polynomial& a, const Polynomial& b) { return a - b * quotient(a, b); }
  Polynomial minimum(const Polynomial& a, const Polynomial& b);
  Polynomial maximum(const Polynomial& a, const Polynomial& b);

  const Atom& operator[](AtomId id) const { return atoms_[id.index()]; }
  std::size_t size() const { return atoms_.size(); }

  using Substitution = std::map<AtomId, Polynomial>;
  Polynomial substitute(const Polynomial& polynomial, const Substitution& by);
  // Rewrites products, also inside atoms, to a fixpoint. Each rule must lead to a smaller product,
  // so this terminates.
  using Products = std::vector<std::pair<Monomial, Monomial>>;
  Polynomial rewrite(const Polynomial& polynomial, const Products& products);
  // Whether the atom occurs in the polynomial or inside its atoms.
  bool occurs(AtomId atom, const Polynomial& in) const;
  // All atoms of the polynomial and, recursively, of its atoms.
  void collect(const Polynomial& polynomial, AtomSet& atoms) const;

  std::string text(const Polynomial& polynomial) const;
  std::string text(AtomId atom) const;

 private:
  AtomId intern(Atom atom);
  std::optional<Polynomial> flattened(const Polynomial& numerator, const Polynomial& c);
  bool mentions(const Polynomial& polynomial, const Substitution& by) const;
  Polynomial substitute_atom(AtomId atom, const Substitution& by);
  Polynomial rewrite_atom(AtomId atom, const Products& products);
  template <typename Change>
  Polynomial changed_element(const Atom& atom, const Change& change);

  std::vector<Atom> atoms_;
  std::map<Atom, AtomId> index_;
  std::int64_t variables_ = 0;
};

}  // namespace egret::verifier
