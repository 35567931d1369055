// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/prime_field.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/random.h"

namespace egret::ir {
namespace {

// 2^61 - 1, where products are reduced by shifts, and the largest prime below it, where they are
// divided.
constexpr PrimeField kFields[] = {PrimeField(), PrimeField((std::uint64_t{1} << 61) - 31)};

TEST(PrimeField, HasTheLawsOfAField) {
  base::Random random(1);
  for (const PrimeField& field : kFields) {
    for (int i = 0; i < 1000; ++i) {
      const auto a = random.below(field.prime());
      const auto b = random.below(field.prime());
      const auto c = random.below(field.prime());
      EXPECT_EQ(field.mul(a, field.add(b, c)), field.add(field.mul(a, b), field.mul(a, c)));
      EXPECT_EQ(field.add(field.sub(a, b), b), a);
      EXPECT_EQ(field.add(a, field.neg(a)), 0U);
      EXPECT_EQ(field.mul(a, field.inverse(a)), a == 0 ? 0U : 1U);
    }
  }
}

TEST(PrimeField, TakesIntegersAndDyadicFractionsToTheirImages) {
  for (const PrimeField& field : kFields) {
    EXPECT_EQ(field.from_i64(-3), field.prime() - 3);
    EXPECT_EQ(field.to_i64(field.from_i64(-3)), -3);
    EXPECT_EQ(field.from_i64(std::numeric_limits<std::int64_t>::min()),
              field.neg(field.power(2, 63)));
    EXPECT_EQ(field.from_double(-5), field.from_i64(-5));
    EXPECT_EQ(field.mul(field.from_double(0.375), 8), 3U);
    EXPECT_EQ(field.from_double(0x1p200), field.power(2, 200));
    EXPECT_EQ(field.from_double(0.0), 0U);
  }
}

TEST(PrimeField, SumsProductsAsMultiplicationAndAdditionDo) {
  base::Random random(2);
  for (const PrimeField& field : kFields) {
    PrimeField::Accumulator sum(field);
    std::uint64_t expected = 0;
    for (int i = 0; i < 200; ++i) {
      const auto a = field.prime() - 1 - random.below(10);
      const auto b = field.prime() - 1 - random.below(10);
      sum.add_product(a, b);
      expected = field.add(expected, field.mul(a, b));
    }
    EXPECT_EQ(sum.value(), expected);
  }
}

TEST(PrimeField, CallsOddAndEvenFunctionsAsTheyAre) {
  for (const PrimeField& field : kFields) {
    const auto tanh = [&](std::uint64_t a) { return field.call(7, Function::kTanh, a, 0); };
    const auto cos = [&](std::uint64_t a) { return field.call(7, Function::kCos, a, 0); };
    EXPECT_EQ(tanh(field.neg(123)), field.neg(tanh(123)));
    EXPECT_EQ(tanh(0), 0U);
    EXPECT_EQ(cos(field.neg(123)), cos(123));
    EXPECT_NE(cos(123), cos(124));
    EXPECT_EQ(field.call(7, Function::kPow, 5, 3), 125U);
    EXPECT_EQ(field.mul(field.call(7, Function::kPow, 5, field.neg(2)), 25), 1U);
  }
}

}  // namespace
}  // namespace egret::ir
