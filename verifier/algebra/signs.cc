// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/signs.h"

#include <algorithm>

#include "ir/core/integer_arithmetic.h"

namespace egret::verifier {

using Kind = Factor::Kind;

bool is_truth(const Factor& factor) {
  return factor.truth || factor.kind == Kind::kLess || factor.kind == Kind::kLessEqual ||
         factor.kind == Kind::kEqual;
}

bool is_truth(const Sum& sum) {
  if (const Factor* only = only_factor(sum)) return is_truth(*only);
  const Sum other = difference(constant_sum(1), sum);
  const Factor* only = only_factor(other);
  return only != nullptr && is_truth(*only);
}

std::optional<std::pair<Rational, Rational>> range_of(const Factor& factor) {
  if (is_truth(factor)) return std::pair<Rational, Rational>(0, 1);
  if (factor.kind != Kind::kRead) return std::nullopt;
  if (!ir::is_integer(factor.dtype)) return std::nullopt;
  const Rational low = ir::lowest_integer(factor.dtype);
  const auto bits = static_cast<std::uint64_t>(ir::highest_integer(factor.dtype));
  return std::pair(low, factor.dtype == ir::DType::kU64
                            ? Rational(bits)
                            : Rational(static_cast<std::int64_t>(bits)));
}

Sign sign_of(const Factor& factor) {
  const auto argument = [&](std::size_t i) { return sign_of(factor.arguments[i]); };
  switch (factor.kind) {
    case Kind::kReciprocal:
      // A defined reciprocal has an argument that is not 0.
      return argument(0) == Sign::kUnknown ? Sign::kUnknown : Sign::kPositive;
    case Kind::kCall: {
      if (factor.function == ir::Function::kExp) return Sign::kPositive;
      // A power of integers with a negative exponent is cut off, possibly to 0.
      if (factor.function == ir::Function::kPow)
        return factor.number != 0 ? std::min(argument(0), Sign::kNotNegative) : argument(0);
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
      const auto range = range_of(factor);
      return std::max(factor.sign,
                      range && range->first >= 0 ? Sign::kNotNegative : Sign::kUnknown);
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

// The least value of a sum of numbers and of multiples of elements of bounded types.
std::optional<Rational> least(const Sum& sum) {
  Rational all = 0;
  for (const Term& term : sum.terms) {
    if (!is_plain(term) || term.factors.size() > 1) return std::nullopt;
    if (term.factors.empty()) {
      all += term.coefficient;
      continue;
    }
    const auto range = range_of(term.factors[0]);
    if (!range) return std::nullopt;
    all += term.coefficient * (term.coefficient > 0 ? range->first : range->second);
  }
  return all;
}

Sign sign_of(const std::optional<Rational>& least) {
  if (!least || *least < 0) return Sign::kUnknown;
  return *least > 0 ? Sign::kPositive : Sign::kNotNegative;
}

}  // namespace

Sign sign_of(const Sum& sum) {
  Sign best = Sign::kNotNegative;
  for (const Term& term : sum.terms) {
    const Sign one = sign_of(term);
    if (one == Sign::kUnknown) return sign_of(least(sum));
    best = std::max(best, one);
  }
  return best;
}

}  // namespace egret::verifier
