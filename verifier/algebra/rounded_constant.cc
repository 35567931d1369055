// SPDX-License-Identifier: Apache-2.0
#include "verifier/algebra/rounded_constant.h"

#include <cmath>

namespace egret::verifier {
namespace {

constexpr int kRoots[] = {1, 2, 3, 5};
constexpr int kLargestDenominator = 12;
constexpr double kLargest = 64;

// Whether 12 bits suffice for the significand.
bool has_few_digits(double number) {
  int exponent = 0;
  const double significand = std::ldexp(std::frexp(number, &exponent), 12);
  return significand == std::trunc(significand);
}

}  // namespace

std::optional<SimpleNumber> rounded_from(double constant) {
  if (has_few_digits(constant) || std::abs(constant) > kLargest) return std::nullopt;
  for (const int n : kRoots) {
    const double root = std::sqrt(static_cast<double>(n));
    for (int q = 1; q <= kLargestDenominator; ++q) {
      const double p = std::round(constant / root * q);
      if (p == 0) continue;
      if (std::abs(p / q * root - constant) <= std::ldexp(std::abs(constant), -24))
        return SimpleNumber{{static_cast<long>(p), q}, n};
    }
  }
  return std::nullopt;
}

}  // namespace egret::verifier
