// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/piecewise.h"

#include <gtest/gtest.h>

#include "verifier/algebra/rounded_constant.h"

namespace egret::verifier {
namespace {

using Kind = Factor::Kind;

Sum unknown(std::int64_t number) {
  return factor_sum({.kind = Kind::kRead, .number = number, .arguments = {}});
}
Sum made(Kind kind, std::vector<Sum> arguments) {
  return factor_sum({.kind = kind, .arguments = std::move(arguments)});
}
Sum call(ir::Function function, Sum argument) {
  return factor_sum(
      {.kind = Kind::kCall, .function = function, .arguments = {std::move(argument)}});
}
Sum minus(const Sum& a, const Sum& b) { return a + scaled(b, -1); }

bool equal(const Sum& a, const Sum& b, const std::vector<RealOrder>& facts = {}) {
  const auto same = [](const Factor&, const Factor&) { return false; };
  SolverSession session;
  return Piecewise(session, 1'000'000).equal(a, b, facts, same);
}

const Sum x = unknown(0);
const Sum y = unknown(1);
const Sum c = unknown(2);

TEST(Piecewise, KnowsThatTheLargerAndTheSmallerAddUp) {
  EXPECT_TRUE(equal(made(Kind::kMaximum, {x, y}) + made(Kind::kMinimum, {x, y}), x + y));
  EXPECT_FALSE(equal(made(Kind::kMaximum, {x, y}), x));
}

TEST(Piecewise, UsesWhatIsKnownOfTheOrder) {
  EXPECT_TRUE(equal(made(Kind::kMaximum, {x, y}), x, {{y, x, false}}));
  const Sum scaled_relu = product(c, made(Kind::kMaximum, {{}, x}));
  const Sum relu_scaled = made(Kind::kMaximum, {{}, product(c, x)});
  EXPECT_TRUE(equal(scaled_relu, relu_scaled, {{{}, c, false}}));
  EXPECT_FALSE(equal(scaled_relu, relu_scaled));
}

TEST(Piecewise, KnowsMonotoneFunctions) {
  const auto tanh = [](const Sum& of) { return call(ir::Function::kTanh, of); };
  EXPECT_TRUE(equal(tanh(made(Kind::kMaximum, {x, y})), made(Kind::kMaximum, {tanh(x), tanh(y)})));
  const auto sin = [](const Sum& of) { return call(ir::Function::kSin, of); };
  EXPECT_FALSE(equal(sin(made(Kind::kMaximum, {x, y})), made(Kind::kMaximum, {sin(x), sin(y)})));
}

// A divisor may be 0 where a comparison excludes the quotient.
TEST(Piecewise, TakesNothingToBeDefinedThatAComparisonMayExclude) {
  const Sum one = constant_sum(1);
  const Sum quotient = product(x, made(Kind::kReciprocal, {x}));
  EXPECT_TRUE(equal(quotient, one));
  const Sum is_zero = made(Kind::kEqual, {x, {}});
  const Sum guarded_quotient = scaled(is_zero, 5) + product(minus(one, is_zero), quotient);
  EXPECT_FALSE(equal(guarded_quotient, one));
}

TEST(RoundedConstant, FindsWhatAConstantIsTheRoundingOf) {
  const auto sixth = rounded_from(0.1666666716337204);
  ASSERT_TRUE(sixth.has_value());
  EXPECT_EQ(sixth->factor, Rational(1, 6));
  EXPECT_EQ(sixth->root_of, 1);
  const auto root = rounded_from(0.7071067811865476);
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->factor, Rational(1, 2));
  EXPECT_EQ(root->root_of, 2);
}

TEST(RoundedConstant, LeavesOtherNumbersAlone) {
  EXPECT_FALSE(rounded_from(0.5).has_value());
  EXPECT_FALSE(rounded_from(0.044715).has_value());
  EXPECT_FALSE(rounded_from(0.1667).has_value());
}

}  // namespace
}  // namespace egret::verifier
