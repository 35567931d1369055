// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/size_proof_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "ir/core/tensor_type.h"

namespace egret::verifier {
namespace {

constexpr std::size_t kMostSummands = 5;
constexpr int kMostSums = 400;  // looked at in one search

// Adds facts until no term of the sum can be positive. Each further fact cancels one term that can.
class Search {
 public:
  Search(SizeFacts& facts, const SizeFacts::Case& given) : facts_(facts), given_(given) {
    for (const Polynomial& fact : given_) raised_.push_back(facts_.raised(fact));
  }

  std::optional<std::string> run() {
    if (std::ranges::any_of(given_, [&](const Polynomial& p) { return facts_.is_negative(p); }))
      return std::string();
    // The shortest first.
    for (limit_ = 2; limit_ <= kMostSummands; ++limit_) {
      sums_ = 0;
      for (std::size_t i = 0; i < given_.size(); ++i) {
        if (extend(raised_[i], {{i, Polynomial(1)}})) return text();
      }
    }
    return std::nullopt;
  }

 private:
  std::string text() {
    std::string sum;
    for (const auto& [fact, factor] : found_) {
      const ir::TensorType type(ir::DType::kI64, ir::Dims{index_of(lowered(factor))});
      const std::string all = to_string(type);  // "i64[FACTOR]"
      sum += (sum.empty() ? "" : ";") + std::to_string(fact) + ":" + all.substr(4, all.size() - 5);
    }
    return sum;
  }

  using Sum = std::vector<std::pair<std::size_t, Polynomial>>;  // factors, raised

  // Atoms stand for themselves less their least value; back to themselves.
  Polynomial lowered(const Polynomial& factor) {
    Polynomial result;
    for (const auto& [monomial, coefficient] : factor.terms()) {
      Polynomial term(coefficient);
      for (const AtomId atom : monomial)
        term = term * (Polynomial(atom) - facts_.raised(Polynomial(atom)).constant());
      result = result + term;
    }
    return result;
  }

  ir::Index index_of(const Polynomial& polynomial) {
    ir::Index sum = 0;
    for (const auto& [monomial, coefficient] : polynomial.terms()) {
      ir::Index term = coefficient;
      for (const AtomId atom : monomial) term = term * index_of(facts_.atoms()[atom]);
      sum = sum + term;
    }
    return sum;
  }

  ir::Index index_of(const Atom& atom) {
    switch (atom.kind) {
      case AtomKind::kSymbol: return ir::symbolic_dim(atom.name);
      case AtomKind::kQuotient: return div(index_of(atom.a), index_of(atom.b));
      case AtomKind::kMinimum: return min(index_of(atom.a), index_of(atom.b));
      case AtomKind::kMaximum: return max(index_of(atom.a), index_of(atom.b));
      case AtomKind::kVariable:
      case AtomKind::kElement: break;
    }
    EGRET_CHECK(false, "facts on sizes have no other atoms");
    return 0;
  }

  bool can_be_positive(const Monomial& monomial, std::int64_t coefficient) {
    return !facts_.is_nonnegative(raised_term(monomial, -coefficient));
  }
  static Polynomial raised_term(const Monomial& monomial, std::int64_t coefficient) {
    Polynomial term(coefficient);
    for (const AtomId atom : monomial) term = term * Polynomial(atom);
    return term;
  }

  // What is left of the monomial without those atoms; nullopt if it lacks some.
  static std::optional<Monomial> without(const Monomial& monomial, const Monomial& atoms) {
    Monomial rest;
    std::size_t next = 0;
    for (const AtomId atom : monomial) {
      if (next < atoms.size() && atoms.data()[next] == atom) {
        ++next;
      } else {
        rest.push_back(atom);
      }
    }
    return next == atoms.size() ? std::optional(rest) : std::nullopt;
  }

  bool extend(const Polynomial& sum, Sum used) {
    if (++sums_ > kMostSums) return false;
    const auto& terms = sum.terms();
    const auto obstacle = std::ranges::find_if(terms, [&](const auto& term) {
      return !term.first.empty() && can_be_positive(term.first, term.second);
    });
    const bool is_last = obstacle == terms.end();
    if (is_last && sum.constant() < 0) {
      found_ = std::move(used);
      return true;
    }
    if (used.size() == limit_) return false;
    const Monomial wanted = is_last ? Monomial() : obstacle->first;
    const std::int64_t here = is_last ? 1 : obstacle->second;
    // Facts that cancel the term as they are, before products of facts.
    for (const bool multiplied : {false, true}) {
      for (std::size_t i = 0; i < raised_.size(); ++i) {
        for (const auto& [monomial, coefficient] : raised_[i].terms()) {
          if ((here > 0) == (coefficient > 0)) continue;
          const auto rest = without(wanted, monomial);
          if (!rest || rest->empty() == multiplied) continue;
          if (!facts_.is_nonnegative(raised_term(*rest, 1))) continue;
          const std::int64_t common = is_last ? 1 : std::gcd(here, coefficient);
          const std::int64_t scale = is_last ? 1 : std::abs(coefficient) / common;
          const Polynomial factor = raised_term(*rest, is_last ? 1 : std::abs(here) / common);
          Sum longer = used;
          for (auto& [fact, times] : longer) times = times * Polynomial(scale);
          longer.emplace_back(i, factor);
          if (extend(sum * Polynomial(scale) + factor * raised_[i], std::move(longer))) return true;
        }
      }
    }
    return false;
  }

  SizeFacts& facts_;
  const SizeFacts::Case& given_;
  std::vector<Polynomial> raised_;
  Sum found_;
  std::size_t limit_ = 0;
  int sums_ = 0;
};

}  // namespace

std::optional<std::string> find_size_proof(SizeFacts& facts, ir::Guard guard) {
  try {
    const auto cases = facts.cases(guard);
    if (!cases) return std::nullopt;
    std::string proof;
    bool is_first = true;
    for (const SizeFacts::Case& one : *cases) {
      auto sum = Search(facts, one).run();
      if (!sum) return std::nullopt;
      proof += (std::exchange(is_first, false) ? "" : "|") + *sum;
    }
    return facts.contradictory(guard, proof) ? std::optional(std::move(proof)) : std::nullopt;
  } catch (const PolynomialOverflow&) {
    return std::nullopt;
  }
}

}  // namespace egret::verifier
