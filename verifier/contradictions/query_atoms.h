// SPDX-License-Identifier: Apache-2.0
// The formulas of a query as truth values: comparisons are facts about polynomials over the
// unknowns, and equal comparisons are one. Nothing is searched here; all of it is trusted.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "verifier/solver/query.h"

namespace egret::verifier {

using ExactRational = boost::multiprecision::cpp_rational;
using QueryProduct = std::vector<std::uint32_t>;  // nodes of unknowns in ascending order
using QueryPolynomial = std::map<QueryProduct, ExactRational>;  // without coefficients of 0

void add_to(QueryPolynomial& sum, const QueryPolynomial& other, const ExactRational& factor);
QueryPolynomial product_of(const QueryPolynomial& a, const QueryPolynomial& b);

struct QueryFact {
  enum class Relation : std::uint8_t { kNonNegative, kPositive, kZero };
  QueryPolynomial value;
  Relation relation = Relation::kNonNegative;
};

// The formulas of one query. A formula is named by its node; equal comparisons, negations of each
// other too, by the node of the first.
class QueryAtoms {
 public:
  static constexpr std::uint32_t kConstant = ~std::uint32_t{0};
  struct Name {
    std::uint32_t node = kConstant;  // kConstant: true
    bool negated = false;
  };

  // The query must outlive the object.
  explicit QueryAtoms(const Query& query);

  const Query& query() const { return query_; }
  bool is_formula(std::uint32_t node) const { return is_formula_[node]; }
  bool is_comparison(std::uint32_t node) const;
  Name name(std::uint32_t node) const { return names_[node]; }
  // Formulas whose truth decides which polynomial a comparison is about, by their nodes.
  const std::vector<std::uint32_t>& choices(std::uint32_t comparison) const {
    return choices_[comparison];
  }

  // By node; of names alone. 0: not known, 1: true, -1: false.
  using Truths = std::vector<std::int8_t>;
  int truth(const Truths& truths, std::uint32_t node) const;
  // What a comparison of this truth says. nullopt if it depends on choices that are not known, and
  // for an equation that does not hold.
  std::optional<QueryFact> fact(const Truths& truths, std::uint32_t comparison, bool truth) const;
  // The difference of both sides of an equation.
  std::optional<QueryPolynomial> difference(const Truths& truths, std::uint32_t equation) const;

 private:
  std::optional<QueryPolynomial> value(const Truths& truths, std::uint32_t node) const;
  std::optional<QueryPolynomial> plain_value(std::uint32_t node);
  QueryFact stated(const Query::Node& comparison, const QueryPolynomial& left,
                   const QueryPolynomial& right, bool truth) const;
  Name name_of(std::uint32_t comparison);

  const Query& query_;
  std::vector<bool> is_formula_;
  std::vector<Name> names_;
  std::vector<std::vector<std::uint32_t>> choices_;
  std::vector<std::optional<QueryPolynomial>> values_;  // of numbers without choices
  std::map<std::pair<int, QueryPolynomial>, std::uint32_t> comparisons_;
};

// The truths of a case: what was assumed and what follows by propositional logic.
class QueryCase {
 public:
  explicit QueryCase(const QueryAtoms& atoms)
      : atoms_(&atoms), truths_(atoms.query().nodes().size(), 0) {}

  void assume(std::uint32_t node, bool truth) { set(node, truth); }
  void assume(QueryFact fact) { facts_.push_back(std::move(fact)); }
  // Draws the conclusions from what was assumed.
  void conclude();
  bool is_contradictory() const { return contradictory_; }

  const QueryAtoms& atoms() const { return *atoms_; }
  const QueryAtoms::Truths& truths() const { return truths_; }
  int truth(std::uint32_t node) const { return atoms_->truth(truths_, node); }
  // Of a comparison that is known to be true or false, or (by -1 - number) the assumed facts.
  std::optional<QueryFact> fact(std::int64_t name) const;
  std::size_t assumed_facts() const { return facts_.size(); }

 private:
  void set(std::uint32_t node, bool truth);
  bool conclude_from(std::uint32_t node);

  const QueryAtoms* atoms_;
  QueryAtoms::Truths truths_;
  std::vector<QueryFact> facts_;
  bool contradictory_ = false;
};

}  // namespace egret::verifier
