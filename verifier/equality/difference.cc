// SPDX-License-Identifier: Apache-2.0
// Equality: proofs that two values differ.
#include <algorithm>

#include "verifier/algebra/integer_laws.h"
#include "verifier/equality/equality.h"

namespace egret::verifier {
namespace {

bool is_closed(const Sum& sum) {
  return std::ranges::all_of(sum.terms, [](const Term& term) {
    return is_plain(term) && std::ranges::all_of(term.factors, [](const Factor& factor) {
             return factor.kind != Factor::Kind::kFiniteWhere &&
                    std::ranges::all_of(factor.arguments, is_closed);
           });
  });
}

// The equation a = b between indices, as far as they are some, times the denominators.
std::optional<Literal> as_equation(const Sum& a, const Sum& b) {
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  Sum all = difference(a, b);
  for (std::size_t i = 0; i < all.terms.size(); ++i) {
    const auto by = denominator(all.terms[i].coefficient);
    if (by > kMost) return std::nullopt;
    if (by != 1) all = scaled(std::move(all), Rational(by));
  }
  const auto index = as_index(all);
  return index ? std::optional(is_zero(*index)) : std::nullopt;
}

}  // namespace

bool Equality::some_differ(std::vector<std::pair<Sum, Sum>> sides, const Facts& facts) {
  trace_.clear();
  cases_ = 0;
  for (auto& [a, b] : sides) {
    a = renamed(atoms_, a);
    b = renamed(atoms_, b);
  }
  return differ(std::move(sides), facts);
}

// No numbers satisfy the facts and all equations, among those that have a closed form. Open guards
// split the proof, then facts that two numbers differ. Each split adds a fact, and their number is
// bounded.
bool Equality::differ(std::vector<std::pair<Sum, Sum>> sides, const Facts& facts) {
  if (solver_.contradictory(facts)) return true;
  Facts equations = facts;
  std::vector<RealOrder> orders = orders_;
  const Literal* guard = nullptr;
  for (auto& [a, b] : sides) {
    a = simplified(a, facts, 0);
    b = simplified(b, facts, 0);
    if (!is_closed(a) || !is_closed(b)) {
      if (guard == nullptr) guard = open_guard(a, b);
      continue;
    }
    if (const auto equation = as_equation(a, b)) equations.push_back(*equation);
    const std::vector<RealOrder> known = known_orders(a, b, facts);
    orders.insert(orders.end(), known.begin(), known.end());
    orders.push_back({a, b, false});
    orders.push_back({b, a, false});
  }
  if (solver_.contradictory(equations) ||
      Piecewise(session_, options_.rlimit).contradictory(orders))
    return true;
  std::vector<Literal> cases;
  if (guard != nullptr) {
    cases = {*guard, negation(*guard)};
  } else {
    const auto open = std::ranges::find(facts, Literal::Relation::kNonZero, &Literal::relation);
    if (open == facts.end()) return false;
    cases = {at_least_zero(open->polynomial - 1), at_least_zero(Polynomial(-1) - open->polynomial)};
  }
  if (++cases_ > options_.cases) return false;
  return std::ranges::all_of(cases, [&](const Literal& one) {
    Facts inside = facts;
    if (guard == nullptr)
      inside.erase(std::ranges::find(inside, Literal::Relation::kNonZero, &Literal::relation));
    return differ(sides, both(inside, {one}));
  });
}

}  // namespace egret::verifier
