// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/literal.h"

#include <algorithm>

namespace egret::verifier {

using Relation = Literal::Relation;

// The negation over the integers: not (p >= 0) is -1 - p >= 0.
Literal negation(const Literal& literal) {
  switch (literal.relation) {
    case Relation::kNonNegative: return at_least_zero(Polynomial(-1) - literal.polynomial);
    case Relation::kZero: return {literal.polynomial, Relation::kNonZero};
    case Relation::kNonZero: return {literal.polynomial, Relation::kZero};
  }
  return literal;
}

Truth obvious(const Literal& literal) {
  if (!literal.polynomial.is_constant()) return Truth::kUnknown;
  const std::int64_t value = literal.polynomial.constant();
  bool holds = false;
  switch (literal.relation) {
    case Relation::kNonNegative: holds = value >= 0; break;
    case Relation::kZero: holds = value == 0; break;
    case Relation::kNonZero: holds = value != 0; break;
  }
  return holds ? Truth::kTrue : Truth::kFalse;
}

std::string text(const AtomTable& atoms, const Literal& literal) {
  const char* relation = literal.relation == Relation::kNonNegative ? " >= 0"
                         : literal.relation == Relation::kZero      ? " = 0"
                                                                    : " != 0";
  return atoms.text(literal.polynomial) + relation;
}

bool impossible(const Facts& facts) {
  return std::ranges::any_of(facts, [](const Literal& f) { return obvious(f) == Truth::kFalse; });
}

Facts both(const Facts& a, const Facts& b) {
  Facts all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

}  // namespace egret::verifier
