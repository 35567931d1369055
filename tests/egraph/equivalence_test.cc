// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/equivalence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "egraph/workloads/constant_folding.h"
#include "egraph/workloads/rule_texts.h"

namespace egret::egraph {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kRules =
    "commute: (+ ?a ?b) => (+ ?b ?a)\n"
    "zero: (+ ?a 0) => ?a\n"
    "cancel: (- ?a ?a) => 0\n";

TEST(Equivalence, IsAssertedInOneLine) {
  EXPECT_EQUIVALENT(kRules, "(+ 0 a)", "a");
  EXPECT_EQUIVALENT(kRules, "(+ (- x x) a)", {"a", "(+ a ?zero)", "(+ ?zero a)"});
  EXPECT_NOT_EQUIVALENT(kRules, "(- a b)", "a");
  EXPECT_EQ(simplified({kRules}, "(+ (- x x) (+ 0 a))"), "a");
}

TEST(Equivalence, UsesTheTheorysAnalysis) {
  const Theory math{workloads::kMathRules, workloads::ConstantFolding::prepare};
  EXPECT_EQUIVALENT(math, "(d x (* 2 x))", "2");
  EXPECT_EQUIVALENT(math, "(+ 1 (* 2 3))", "7");
}

TEST(Equivalence, SaysWhatItFoundInstead) {
  const std::string why = why_not_equivalent({kRules}, "(+ 0 a)", {"a", "b"});
  EXPECT_THAT(why, HasSubstr("not found: b\nin "));
  EXPECT_THAT(why, HasSubstr("stopped: saturated; the smallest term found is a"));
  EXPECT_THAT(why_not_equivalent({kRules}, "(+ 0 a", "a"), HasSubstr("start: line 1, column 2"));
  EXPECT_THAT(why_not_equivalent({"oops"}, "a", "a"), HasSubstr("rules: line 1"));
  EXPECT_THAT(why_not_equivalent({kRules}, "a", ")"), HasSubstr("goal: line 1"));
}

TEST(Equivalence, StopsAtItsLimits) {
  EquivalenceOptions options;
  options.limits.iterations = 3;
  EXPECT_THAT(why_not_equivalent({"grow: (s ?x) => (s (t ?x))"}, "(s z)", "z", options),
              HasSubstr("in 3 iterations"));
}

}  // namespace
}  // namespace egret::egraph
