// SPDX-License-Identifier: Apache-2.0
#include "rules/generator/rule_weakening.h"

#include <gtest/gtest.h>

#include "tests/rules/parsed_rule.h"

namespace egret::rules::generator {
namespace {

// Screening that hardly looks, so that wrong steps pass it.
CandidateScrutiny careless() {
  CandidateScrutiny scrutiny;
  scrutiny.screening.instances = 1;
  scrutiny.screening.tensor_checks = 1;
  return scrutiny;
}

Verdict weakened(Rule& rule, const CandidateScrutiny& scrutiny) {
  KnownOperators known;
  return weaken(rule, prove_candidate(rule, scrutiny, known), scrutiny, known);
}

TEST(RuleWeakening, DropsConditionsThatAreNotNeeded) {
  Rule rule = parsed("relu(relu(?x)) where rank(?x) == 2 where is_float(?x) => relu(?x)");
  EXPECT_EQ(to_string(weakened(rule, careless()).status), "proven");
  EXPECT_EQ(rule.conditions.size(), 0);
}

TEST(RuleWeakening, MakesVariablesThatStandTwiceTwo) {
  Rule rule = parsed("add(mul(?x, ?y), mul(?x, ?y)) => add(mul(?x, ?y), mul(?y, ?x))");
  const std::size_t before = rule.tensors.size();
  EXPECT_EQ(to_string(weakened(rule, {}).status), "proven");
  EXPECT_GT(rule.tensors.size(), before);
}

// Without the first condition and the last the rule is right, without the others it is wrong: sums
// whose operands are broadcast.
TEST(RuleWeakening, LeavesOutStepsThatTurnOutWrong) {
  Rule rule = parsed(
      "concat{axis=?axis}(add(?m0, ?m1), add(?w0, ?w1)) where is_float(?m0) "
      "where same_type(?m0, ?m1) where same_type(?w0, ?w1) where rank(?m0) == 2 => "
      "add(concat{axis=?axis}(?m0, ?w0), concat{axis=?axis}(?m1, ?w1))");
  EXPECT_EQ(to_string(weakened(rule, careless()).status), "proven");
  KnownOperators known;
  EXPECT_EQ(to_string(verify(rule, {}, known).status), "proven");
  const std::string text = to_string(rule);
  EXPECT_NE(text.find("same_type"), std::string::npos) << text;
  EXPECT_EQ(text.find("is_float"), std::string::npos) << text;
  EXPECT_EQ(text.find("rank"), std::string::npos) << text;
}

// The verdict that is handed in may come of few instances.
TEST(RuleWeakening, FindsThatTheRuleItselfFailsTests) {
  Rule rule = parsed("matmul(?a, ?b) where same_type(?a, ?b) => matmul(?b, ?a)");
  const std::string before = to_string(rule);
  Verdict proven;
  proven.status = Verdict::Status::kProven;
  KnownOperators known;
  EXPECT_EQ(to_string(weaken(rule, proven, {}, known).status), "refuted");
  EXPECT_EQ(to_string(rule), before);
}

}  // namespace
}  // namespace egret::rules::generator
