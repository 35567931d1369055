// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/signs.h"

#include <algorithm>

namespace egret::verifier {

using Kind = Factor::Kind;

Sign sign_of(const Factor& factor) {
  const auto argument = [&](std::size_t i) { return sign_of(factor.arguments[i]); };
  switch (factor.kind) {
    case Kind::kReciprocal:
      // A defined reciprocal has an argument that is not 0.
      return argument(0) == Sign::kUnknown ? Sign::kUnknown : Sign::kPositive;
    case Kind::kCall: {
      if (factor.function == ir::Function::kExp) return Sign::kPositive;
      if (factor.function == ir::Function::kPow) return argument(0);
      return ir::facts(factor.function).low >= 0 ? Sign::kNotNegative : Sign::kUnknown;
    }
    case Kind::kMaximum: {
      Sign best = Sign::kUnknown;
      for (const Sum& sum : factor.arguments) best = std::max(best, sign_of(sum));
      const bool magnitude = factor.arguments.size() == 2 &&  // of p: max(p, -p)
                             (factor.arguments[0] + factor.arguments[1]).is_zero();
      return magnitude ? std::max(best, Sign::kNotNegative) : best;
    }
    case Kind::kMinimum: {
      Sign worst = Sign::kPositive;
      for (const Sum& sum : factor.arguments) worst = std::min(worst, sign_of(sum));
      return worst;
    }
    case Kind::kReduce: return std::min(argument(0), Sign::kNotNegative);
    case Kind::kRead: {
      const bool is_unsigned = ir::is_integer(factor.dtype) && !ir::is_signed_integer(factor.dtype);
      return factor.truth || is_unsigned ? Sign::kNotNegative : Sign::kUnknown;
    }
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kEqual: return Sign::kNotNegative;
    default: return Sign::kUnknown;
  }
}

namespace {

// Factors are sorted, so equal ones are adjacent, and a square is not negative.
Sign sign_of(const Term& term) {
  if (term.coefficient < 0) return Sign::kUnknown;
  Sign sign = term.guards.empty() && term.variables.empty() ? Sign::kPositive : Sign::kNotNegative;
  for (std::size_t i = 0; i < term.factors.size(); ++i) {
    Sign one = sign_of(term.factors[i]);
    const bool squared =
        i + 1 < term.factors.size() && compare(term.factors[i], term.factors[i + 1]) == 0;
    if (one == Sign::kUnknown && squared) {
      one = Sign::kNotNegative;
      ++i;
    }
    sign = std::min(sign, one);
  }
  return sign;
}

}  // namespace

Sign sign_of(const Sum& sum) {
  Sign best = Sign::kNotNegative;
  for (const Term& term : sum.terms) {
    const Sign one = sign_of(term);
    if (one == Sign::kUnknown) return one;
    best = std::max(best, one);
  }
  return best;
}

}  // namespace egret::verifier
