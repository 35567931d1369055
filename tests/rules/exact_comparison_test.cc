// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/exact_comparison.h"

#include <gtest/gtest.h>

#include <map>

#include "rules/tensors/rule_set.h"
#include "tests/rules/parsed_rule.h"

namespace egret::rules {
namespace {

// How often each outcome was seen on random instances.
std::map<ExactOutcome, int> outcomes(const Rule& rule, int attempts = 200) {
  KnownOperators known;
  Instantiator instantiator(rule, known);
  std::map<ExactOutcome, int> counts;
  for (int i = 0; i < attempts; ++i) {
    const base::Random random = base::Random(3).split(static_cast<std::uint64_t>(i));
    if (const auto instance = instantiator.attempt(random))
      ++counts[compare_exactly(*instance, random.split(1))];
  }
  return counts;
}

TEST(ExactComparison, TellsTrueRulesFromFalseOnes) {
  const auto right = outcomes(parsed("add(?x, ?y) => add(?y, ?x)"));
  EXPECT_GT(right.at(ExactOutcome::kEqual), 20);
  EXPECT_EQ(right.size(), 1U);
  EXPECT_GT(outcomes(parsed("sub(?x, ?y) => sub(?y, ?x)")).at(ExactOutcome::kDifferent), 20);
}

TEST(ExactComparison, HasNoTolerance) {
  // Off by one part in 10^12, which the comparison in floating point does not see.
  const Rule rule = parsed(
      "leaky_relu{alpha=0.5}(?x) where is_float(?x) => leaky_relu{alpha=0.5000000000005}(?x)");
  EXPECT_GT(outcomes(rule).at(ExactOutcome::kDifferent), 20);
}

TEST(ExactComparison, SaysNothingOfLawsOfFunctions) {
  const auto counts = outcomes(parsed("exp(add(?x, ?y)) => mul(exp(?x), exp(?y))"));
  EXPECT_GT(counts.at(ExactOutcome::kFunctions), 20);
  EXPECT_FALSE(counts.contains(ExactOutcome::kDifferent));
  // But of functions as they are.
  EXPECT_GT(outcomes(parsed("exp(add(?x, ?y)) => exp(add(?y, ?x))")).at(ExactOutcome::kEqual), 20);
}

TEST(ExactComparison, SaysNothingWhereTheLeftSideIsUndefined) {
  const auto counts = outcomes(parsed("div(?x, sub(?x, ?x)) => ?x"));
  EXPECT_TRUE(counts.contains(ExactOutcome::kVoid));
  EXPECT_FALSE(counts.contains(ExactOutcome::kDifferent));
}

TEST(ExactComparison, IgnoresUndefinedElementsThatNothingReads) {
  // Windows of nothing but padding have no maximum; of no samples there are no windows.
  const auto counts = outcomes(parsed(
      "max_pool{dilations=?d, kernel=?k, pads=?p, strides=?s}(slice{axis=0, size=?n, start=?i}(?x))"
      " => "
      "slice{axis=0, size=?n, start=?i}(max_pool{dilations=?d, kernel=?k, pads=?p, "
      "strides=?s}(?x))"));
  EXPECT_TRUE(counts.contains(ExactOutcome::kEqual));
  EXPECT_FALSE(counts.contains(ExactOutcome::kDifferent));
}

// The whole: agree_exactly all 200 10000 FILE.
TEST(ExactComparison, AgreesWithTheProofsOfTheRulesThatComeWithEgret) {
  const auto set = select_rules("all");
  ASSERT_TRUE(set.ok()) << set.status().message();
  int equal = 0;
  for (const Rule& rule : set->rules) {
    if (rule.has_tag("rounding")) continue;
    const auto counts = outcomes(rule, 50);
    EXPECT_FALSE(counts.contains(ExactOutcome::kDifferent)) << rule.name;
    equal += counts.contains(ExactOutcome::kEqual) ? 1 : 0;
  }
  EXPECT_GE(equal, 180);
}

}  // namespace
}  // namespace egret::rules
