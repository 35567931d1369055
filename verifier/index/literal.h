// SPDX-License-Identifier: Apache-2.0
// A fact about integers: a polynomial is not negative, is zero, is not zero.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "verifier/index/polynomial.h"

namespace egret::verifier {

struct Literal {
  enum class Relation : std::uint8_t { kNonNegative, kZero, kNonZero };
  Polynomial polynomial;
  Relation relation = Relation::kNonNegative;
  friend auto operator<=>(const Literal&, const Literal&) = default;
};

inline Literal at_least_zero(Polynomial p) {
  return {std::move(p), Literal::Relation::kNonNegative};
}
inline Literal is_zero(Polynomial p) { return {std::move(p), Literal::Relation::kZero}; }
inline Literal less_equal(const Polynomial& a, const Polynomial& b) { return at_least_zero(b - a); }
inline Literal less(const Polynomial& a, const Polynomial& b) { return at_least_zero(b - a - 1); }
inline Literal equal(const Polynomial& a, const Polynomial& b) { return is_zero(a - b); }
Literal negation(const Literal& literal);
// The truth of a literal if its polynomial is constant.
enum class Truth : std::uint8_t { kFalse, kTrue, kUnknown };
Truth obvious(const Literal& literal);
std::string text(const AtomTable& atoms, const Literal& literal);

using Facts = std::vector<Literal>;  // a conjunction
Facts both(const Facts& a, const Facts& b);
bool impossible(const Facts& facts);  // one of them is obviously false

}  // namespace egret::verifier
