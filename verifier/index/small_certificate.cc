// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/small_certificate.h"

#include <algorithm>
#include <map>

namespace egret::verifier {
namespace {

using Relation = Literal::Relation;

constexpr int kMostFacts = 4;
constexpr int kMostSums = 400;  // looked at in one search

class Search {
 public:
  explicit Search(const Facts& facts) {
    for (const Literal& fact : facts) note_bound(fact);
    for (const Literal& fact : facts) {
      if (fact.relation == Relation::kNonZero) continue;
      directions_.push_back(raised(fact.polynomial));
      if (fact.relation == Relation::kZero) directions_.push_back(raised(-fact.polynomial));
    }
  }

  bool run() {
    for (std::size_t i = directions_.size(); i-- > 0;) {  // the negated goal is mostly the last
      if (extend(directions_[i], 1)) return true;
    }
    return false;
  }

 private:
  // Notes a lower bound: the fact is v - c >= 0 with c >= 0.
  void note_bound(const Literal& fact) {
    if (fact.relation != Relation::kNonNegative) return;
    const std::int64_t constant = fact.polynomial.constant();
    const AtomId atom = (fact.polynomial - constant).as_atom();
    if (!atom.valid() || constant > 0) return;
    std::int64_t& bound = bounds_[atom];
    bound = std::max(bound, -constant);
  }

  // Writes each bounded atom v as its bound plus a non-negative remainder, which is again called v.
  Polynomial raised(const Polynomial& polynomial) const {
    Polynomial result;
    for (const auto& [monomial, coefficient] : polynomial.terms()) {
      Polynomial term(coefficient);
      for (const AtomId atom : monomial) {
        const auto bound = bounds_.find(atom);
        Polynomial factor(atom);
        if (bound != bounds_.end() && bound->second > 0) factor = factor + bound->second;
        term = term * factor;
      }
      result = result + term;
    }
    return result;
  }

  bool is_bounded(const Monomial& monomial) const {
    return std::ranges::all_of(monomial, [&](AtomId atom) { return bounds_.contains(atom); });
  }

  // A monomial that prevents the sum from being surely negative; nullptr if the sum is surely
  // negative.
  const Monomial* obstacle(const Polynomial& sum) const {
    if (sum.constant() >= 0) {
      static const Monomial kOne;
      const bool other = std::ranges::any_of(sum.terms(), [&](const auto& term) {
        return !term.first.empty() && !(term.second < 0 && is_bounded(term.first));
      });
      if (!other) return &kOne;
    }
    for (const auto& [monomial, coefficient] : sum.terms()) {
      if (!monomial.empty() && !(coefficient < 0 && is_bounded(monomial))) return &monomial;
    }
    return nullptr;
  }

  // Depth-first search: adds a fact whose coefficient of the obstacle has the opposite sign. At
  // most kMostFacts facts per sum and kMostSums sums per search.
  bool extend(const Polynomial& sum, int used) {
    if (++sums_ > kMostSums) return false;
    const Monomial* monomial = obstacle(sum);
    if (monomial == nullptr) return true;
    if (used == kMostFacts) return false;
    const std::int64_t here = sum.coefficient(*monomial);
    for (const Polynomial& other : directions_) {
      const std::int64_t there = other.coefficient(*monomial);
      const bool helps = here > 0 || (here == 0 && monomial->empty()) ? there < 0 : there > 0;
      if (helps && extend(sum + other, used + 1)) return true;
    }
    return false;
  }

  std::map<AtomId, std::int64_t> bounds_;  // of atoms that are not negative
  std::vector<Polynomial> directions_;     // not negative, each
  int sums_ = 0;
};

}  // namespace

bool add_up_to_contradiction(const Facts& facts) { return Search(facts).run(); }

}  // namespace egret::verifier
