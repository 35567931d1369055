// SPDX-License-Identifier: Apache-2.0
// Derivations use a lemma only where its proof holds.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "rules/proving/verification.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

// The verdict on a goal by one lemma. No tensors are run: they refute wrong goals.
std::string derived(std::string_view goal, const Lemma& lemma) {
  KnownOperators known;
  VerifyOptions options;
  options.instances = 20;
  options.tensor_checks = 0;
  const std::vector<Lemma> lemmas{lemma};
  options.lemmas = lemmas;
  return std::string(to_string(verify(parsed(goal), options, known).status));
}

std::string verdict_alone(std::string_view rule) {
  KnownOperators known;
  VerifyOptions options;
  options.instances = 20;
  return std::string(to_string(verify(parsed(rule), options, known).status));
}

// Two windows of sizes k and l, of tensors of three axes, are one of size k + l - 1.
std::string windows(std::string_view before, std::string_view after) {
  constexpr std::string_view kRest = "], strides=[1], pads=[0, 0], dilations=[1]";
  const auto text = [](std::string_view part) { return std::string(part); };
  return text(before) + "max_pool{kernel=[?k" + text(kRest) + ", *}(max_pool{kernel=[?l" +
         text(kRest) + ", *}(?x))" + text(after) +
         " where dim(out, 2) == dim(?x, 2) - ?k - ?l + 2 => " + text(before) +
         "max_pool{kernel=[?k + ?l - 1" + text(kRest) + "}(?x)" + text(after);
}

TEST(Lemmas, AreUsedWithinTheirLimits) {
  const Rule lemma = parsed(windows("", ""));
  const std::string goal = windows("relu(", ")");
  EXPECT_EQ(derived(goal, {lemma, {}}), "proven");
  EXPECT_EQ(derived(goal, {lemma, {.rank = 3}}), "proven");
  EXPECT_EQ(derived(goal, {lemma, {.rank = 3, .open = {{2}}}}), "proven");
  EXPECT_EQ(derived(goal, {lemma, {.rank = 2}}), "undecided");
  EXPECT_EQ(derived(goal, {lemma, {.rank = 4, .open = {{3}}}}), "undecided");
}

// A slice may have no elements, and then 0 is divided by 0. Inputs have elements.
TEST(Lemmas, SayNothingOfEmptyTensors) {
  constexpr std::string_view kLemma =
      "reduce_sum{axes=[0], keepdims=0}(?x) where rank(?x) == 1 and is_float(?x)\n"
      "let n = reduce_sum{axes=[0], keepdims=0}(exp(sub(?x, ?x)))\n"
      "=> mul(div(reduce_sum{axes=[0], keepdims=0}(?x), n), n)";
  const auto goal = [](std::string_view least) {
    return "reduce_sum{axes=[0], keepdims=0}(slice{axis=0, start=?s, size=?n, step=1}(?x))\n"
           "where rank(?x) == 1 and is_float(?x) and ?n >= " +
           std::string(least) +
           "\nlet y = slice{axis=0, start=?s, size=?n, step=1}(?x)\n"
           "let n = reduce_sum{axes=[0], keepdims=0}(exp(sub(y, y)))\n"
           "=> mul(div(reduce_sum{axes=[0], keepdims=0}(y), n), n)";
  };
  ASSERT_EQ(verdict_alone(kLemma), "proven");
  EXPECT_EQ(derived(goal("0"), {parsed(kLemma)}), "undecided");
  EXPECT_EQ(derived(goal("1"), {parsed(kLemma)}), "proven");
}

// Elements of inputs are within their type. Products of them are not, as integers have no bounds.
TEST(Lemmas, SayNothingOfIntegersBeyondTheirType) {
  constexpr std::string_view kLeast =
      ", fill{shape=[], value=-9223372036854775808.0, dtype=\"i64\"}())";
  const std::string lemma = "max(?x" + std::string(kLeast) + " where dtype(?x) == \"i64\" => ?x";
  const std::string goal =
      "max(mul(?x, ?y)" + std::string(kLeast) + " where dtype(?x) == \"i64\" => mul(?x, ?y)";
  ASSERT_EQ(verdict_alone(lemma), "proven");
  EXPECT_EQ(derived(goal, {parsed(lemma)}), "undecided");
}

// max(x, y) = relu(x - y) + y of finite numbers. If y is minus infinity, the right side is none.
TEST(Lemmas, SayNothingOfInfiniteNumbers) {
  constexpr std::string_view kLemma =
      "max(?x, ?y) where same_type(?x, ?y) and is_float(?x) => add(relu(sub(?x, ?y)), ?y)";
  constexpr std::string_view kGoal =
      "max(?x, where(?m, ?y, fill{shape=[], value=-inf, dtype=\"f32\"}()))\n"
      "where same_type(?x, ?y) and dtype(?x) == \"f32\" and dtype(?m) == \"bool\" and "
      "rank(?x) == 1 and rank(?m) == 1\n"
      "let y = where(?m, ?y, fill{shape=[], value=-inf, dtype=\"f32\"}())\n"
      "=> add(relu(sub(?x, y)), y)";
  ASSERT_EQ(verdict_alone(kLemma), "proven");
  EXPECT_EQ(derived(kGoal, {parsed(kLemma)}), "undecided");
}

// The lemma's right side reads all of y, its left side none. The logarithm need not be defined.
TEST(Lemmas, SayNothingOfUndefinedElements) {
  constexpr std::string_view kLemma =
      "slice{axis=0, start=0, size=?n, step=1}(concat{axis=0}(?x, ?y))\n"
      "where rank(?x) == 1 and is_float(?x) and ?n == dim(?x, 0)\n"
      "=> add(?x, mul(reduce_sum{axes=[0], keepdims=0}(?y), 0))";
  const auto goal = [](const std::string& function) {
    return "slice{axis=0, start=0, size=?n, step=1}(concat{axis=0}(?x, " + function +
           "))\n"
           "where rank(?x) == 1 and is_float(?x) and ?n == dim(?x, 0)\n"
           "=> add(?x, mul(reduce_sum{axes=[0], keepdims=0}(" +
           function + "), 0))";
  };
  ASSERT_EQ(verdict_alone(kLemma), "proven");
  EXPECT_EQ(derived(goal("exp(?y)"), {parsed(kLemma)}), "proven");
  EXPECT_EQ(derived(goal("log(?y)"), {parsed(kLemma)}), "undecided");
}

// |-x| = |x| of numbers with a sign. An unsigned -x wraps around and is its own magnitude.
TEST(ElementTypes, UnsignedIntegersAreExamined) {
  EXPECT_EQ(verdict_alone("abs(neg(?x)) => abs(?x)"), "refuted");
  EXPECT_EQ(verdict_alone("abs(neg(?x)) where is_float(?x) => abs(?x)"), "proven");
  EXPECT_EQ(verdict_alone("abs(neg(?x)) where dtype(?x) == \"i8\" => abs(?x)"), "proven");
  EXPECT_EQ(verdict_alone("mul(abs(?x), abs(?x)) => mul(?x, ?x)"), "proven");
}

}  // namespace
}  // namespace egret::rules
