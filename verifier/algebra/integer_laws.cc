// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/integer_laws.h"

#include <algorithm>
#include <utility>

#include "verifier/algebra/factor_laws.h"
#include "verifier/algebra/signs.h"

namespace egret::verifier {
namespace {

using Kind = Factor::Kind;

// trunc(a - trunc(a)) = 0. nullopt for other arguments.
std::optional<Sum> truncated(const Sum& argument) {
  for (const Term& term : argument.terms) {
    const bool whole = is_plain(term) && term.coefficient == -1 && term.factors.size() == 1 &&
                       is_call(term.factors[0], ir::Function::kTrunc);
    if (whole && compare(difference(argument, Sum{{term}}), term.factors[0].arguments[0]) == 0)
      return Sum();
  }
  return std::nullopt;
}

// Laws of 0, of all bits, of equal operands, and of two complements.
Sum bits(Factor factor) {
  using ir::Function;
  const Sum a = factor.arguments[0];
  if (factor.function == Function::kBitNot) {
    const Factor* only = only_factor(a);
    return only != nullptr && is_call(*only, Function::kBitNot) ? only->arguments[0]
                                                                : factor_sum(std::move(factor));
  }
  const Sum b = factor.arguments[1];
  const bool of_and = factor.function == Function::kBitAnd;
  const bool of_xor = factor.function == Function::kBitXor;
  const bool equal = compare(a, b) == 0;
  if (equal) return of_xor ? Sum() : a;
  if (a.is_zero() || b.is_zero()) return of_and ? Sum() : a + b;
  const Rational all(-1);
  if (!of_xor && (number_of(a) == all || number_of(b) == all)) {
    const Sum& other = number_of(a) == all ? b : a;
    return of_and ? other : constant_sum(all);
  }
  if (compare(b, a) < 0) factor.arguments = {b, a};
  return factor_sum(std::move(factor));
}

// The power of two, if the number is one that a shift may give.
std::optional<Rational> power_of_two(const std::optional<Rational>& exponent) {
  constexpr int kMost = 62;
  if (!exponent || denominator(*exponent) != 1 || *exponent < 0 || *exponent > kMost)
    return std::nullopt;
  return Rational(std::int64_t{1} << static_cast<int>(numerator(*exponent)));
}

Sum quotient(AtomTable& atoms, const Sum& dividend, const Rational& divisor) {
  return lawful(atoms,
                Factor{.kind = Kind::kQuotient, .arguments = {dividend, constant_sum(divisor)}});
}

// A quotient of indices is cut off towards 0; `div` is Euclidean and needs a positive divisor. The
// four cases of signs exclude each other, and a divisor of 0 is undefined. nullopt for others.
std::optional<Sum> quotient_of_indices(AtomTable& atoms, const Sum& dividend, const Sum& divisor) {
  const auto a = as_index(dividend);
  const auto b = as_index(divisor);
  if (!a || !b) return std::nullopt;
  Sum all;
  for (const std::int64_t sign : {1, -1}) {
    const Polynomial magnitude = Polynomial(sign) * *a;
    const Literal of_sign = at_least_zero(sign > 0 ? magnitude : magnitude - 1);
    for (const std::int64_t other_sign : {1, -1}) {
      const Polynomial positive = Polynomial(other_sign) * *b;
      const Facts facts{of_sign, at_least_zero(positive - 1)};
      if (impossible(facts)) continue;
      Sum value = lawful(atoms, Factor{.kind = Kind::kIndex,
                                       .indices = {atoms.quotient(magnitude, positive)},
                                       .arguments = {}});
      all = std::move(all) + scaled(guarded(std::move(value), facts), sign * other_sign);
    }
  }
  return all;
}

// x >> n = x / 2^n for a number x >= 0.
Sum shifted_right(AtomTable& atoms, Factor factor) {
  const auto power = power_of_two(number_of(factor.arguments[1]));
  if (!power || sign_of(factor.arguments[0]) == Sign::kUnknown)
    return factor_sum(std::move(factor));
  return quotient(atoms, factor.arguments[0], *power);
}

// The low bits of a number x >= 0: x - x / 2^n * 2^n for the mask 2^n - 1. nullopt for other masks.
std::optional<Sum> low_bits(AtomTable& atoms, const Sum& x, const Sum& mask) {
  const auto number = number_of(mask);
  if (!number || denominator(*number) != 1 || *number <= 0 || sign_of(x) == Sign::kUnknown)
    return std::nullopt;
  const auto power = static_cast<boost::multiprecision::cpp_int>(numerator(*number) + 1);
  if ((power & (power - 1)) != 0) return std::nullopt;
  return difference(x, scaled(quotient(atoms, x, Rational(power)), Rational(power)));
}

// Whether all elements of a type are elements of another.
bool contains(ir::DType type, ir::DType other) {
  if (type == other) return true;
  const auto range = range_of({.kind = Kind::kRead, .dtype = type});
  const auto inner = range_of({.kind = Kind::kRead, .dtype = other});
  return range && inner && range->first <= inner->first && inner->second <= range->second;
}

// Whether the unsigned type contains all magnitudes of a signed element that is at least 0 here.
bool holds_magnitudes_of(const Factor& element, ir::DType type) {
  const auto range = range_of({.kind = Kind::kRead, .dtype = type});
  const auto inner = range_of({.kind = Kind::kRead, .dtype = element.dtype});
  return element.sign != Sign::kUnknown && range && inner && -inner->first <= range->second;
}

// Whether a number of at least 0 is divided by one of at least 1, which makes it no larger.
bool is_of_magnitude(const Factor& quotient) {
  const auto divisor = number_of(quotient.arguments[1]);
  return divisor && *divisor >= 1 && sign_of(quotient.arguments[0]) != Sign::kUnknown;
}

// Whether a cast to `type` is the identity: one element of a type within it, integer sums and
// products of elements of the type, or quotients of unsigned ones and of magnitudes. Integers are
// unbounded here, so they do not leave the type.
bool is_within(const Sum& sum, ir::DType type) {
  const bool is_unsigned = ir::is_integer(type) && !ir::is_signed_integer(type);
  if (const Factor* only = only_factor(sum);
      only != nullptr && only->kind == Kind::kRead && !only->truth)
    return contains(type, only->dtype) || (is_unsigned && holds_magnitudes_of(*only, type));
  return std::ranges::all_of(sum.terms, [&](const Term& term) {
    return denominator(term.coefficient) == 1 &&
           std::ranges::all_of(term.factors, [&](const Factor& factor) {
             const bool quotient =
                 factor.kind == Kind::kQuotient && (is_unsigned || is_of_magnitude(factor));
             return (factor.kind == Kind::kRead && factor.dtype == type) ||
                    factor.kind == Kind::kIndex || is_truth(factor) ||
                    (quotient && std::ranges::all_of(factor.arguments, [&](const Sum& argument) {
                       return is_within(argument, type);
                     }));
           });
  });
}

}  // namespace

std::optional<Polynomial> as_index(const Sum& sum) {
  Polynomial index;
  for (const Term& term : sum.terms) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (!is_plain(term) || denominator(term.coefficient) != 1 || term.coefficient > kMost ||
        term.coefficient < -kMost)
      return std::nullopt;
    Polynomial one(static_cast<std::int64_t>(numerator(term.coefficient)));
    for (const Factor& factor : term.factors) {
      if (factor.kind != Kind::kIndex) return std::nullopt;
      one = one * factor.indices[0];
    }
    index = index + one;
  }
  return index;
}

// quotient(a, 1) = a, and quotient(a - b*quotient(a, b), b) = 0: a remainder is less than its
// divisor.
Sum integer_quotient(AtomTable& atoms, const Factor& factor) {
  const Sum& dividend = factor.arguments[0];
  const Sum& divisor = factor.arguments[1];
  if (number_of(divisor) == Rational(1)) return dividend;
  if (auto by_signs = quotient_of_indices(atoms, dividend, divisor)) return *std::move(by_signs);
  for (const Term& term : dividend.terms) {
    for (const Factor& one : term.factors) {
      if (one.kind != Kind::kQuotient || compare(one.arguments[1], divisor) != 0) continue;
      const Sum multiple = product(divisor, factor_sum(one));
      if (compare(dividend + multiple, one.arguments[0]) == 0) return {};
      if (compare(difference(multiple, dividend), one.arguments[0]) == 0) return {};
    }
  }
  // It is cut off towards 0: quotient(-a, b) = -quotient(a, b).
  if (dividend.terms.empty()) return {};
  if (dividend.terms.front().coefficient > 0) return factor_sum(factor);
  return scaled(
      lawful(atoms, Factor{.kind = Kind::kQuotient, .arguments = {scaled(dividend, -1), divisor}}),
      -1);
}

Sum integer_cast(Factor factor) {
  const auto type = static_cast<ir::DType>(factor.number);
  const Sum& argument = factor.arguments[0];
  const bool same = type == ir::DType::kBool ? is_truth(argument) : is_within(argument, type);
  return same ? argument : factor_sum(std::move(factor));
}

std::optional<Sum> integer_function(AtomTable& atoms, const Factor& factor) {
  switch (factor.function) {
    case ir::Function::kTrunc: return truncated(factor.arguments[0]);
    case ir::Function::kBitAnd:
      if (auto low = low_bits(atoms, factor.arguments[0], factor.arguments[1])) return low;
      if (auto low = low_bits(atoms, factor.arguments[1], factor.arguments[0])) return low;
      return bits(factor);
    case ir::Function::kBitOr:
    case ir::Function::kBitXor:
    case ir::Function::kBitNot: return bits(factor);
    case ir::Function::kShiftRight: return shifted_right(atoms, factor);
    default: return std::nullopt;
  }
}

}  // namespace egret::verifier
