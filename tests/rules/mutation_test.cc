// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "rules/proving/mutation_trial.h"
#include "rules/proving/verification.h"
#include "rules/tensors/rule_set.h"
#include "rules/testing/tester.h"

namespace egret::rules {
namespace {

TEST(Mutation, PlantsMistakesOfEachKind) {
  const auto set = select_rules("sum-of-matmuls");
  ASSERT_TRUE(set.ok());
  const std::vector<Mutant> mutants = mutants_of(set->rules[0]);
  std::set<std::string> mistakes;
  for (const Mutant& mutant : mutants) mistakes.insert(mutant.mistake);
  for (const char* mistake :
       {"operands 1 and 2 of matmul exchanged", "operands 1 and 2 of concat exchanged",
        "without the condition rank(?a) == 2", "1 in axis of concat off by one",
        "?b in place of ?a"})
    EXPECT_TRUE(mistakes.contains(mistake)) << mistake;
  EXPECT_GE(mutants.size(), 20U);
}

// The tester and the verifier share the definitions alone: what one refutes the other must not
// prove. No tensors are tried before the proofs here.
TEST(Mutation, IsNeverProvenWhereTensorsRefuteIt) {
  const auto set = select_rules(
      "sum-of-matmuls,transpose-of-matmul,slice-of-slice,concat-of-adjacent-slices,"
      "transpose-of-slice,reduce-max-of-relu,drop-pow-one,softmax-from-exp,reshape-of-reshape,"
      "concat-of-matmuls-sharing-left,exp-of-difference,relu-of-abs,max-pool-of-relu,"
      "sum-of-convs-sharing-input,batch-norm-as-scale");
  ASSERT_TRUE(set.ok()) << set.status().message();
  TestOptions testing;
  testing.checks = 100;
  testing.attempts_per_check = 50;
  VerifyOptions verifying;
  verifying.tensor_checks = 0;
  verifying.instances = 200;
  verifying.attempts_per_instance = 50;
  KnownOperators known;
  int refuted = 0;
  for (const Rule& rule : set->rules) {
    for (const Mutant& mutant : mutants_of(rule)) {
      const TestReport report = test_rule(mutant.rule, testing, known);
      if (report.verdict != TestReport::Verdict::kRefuted) continue;
      ++refuted;
      const Verdict verdict = verify(mutant.rule, verifying, known);
      EXPECT_NE(to_string(verdict.status), "proven")
          << mutant.rule.name << ": " << mutant.mistake << "\n"
          << report.counterexample;
    }
  }
  EXPECT_GE(refuted, 40);
}

// One rule and a mutant of each outcome but those that need a fault of the verifier.
class MutantTrials : public testing::Test {
 protected:
  MutantOutcome outcome_of(const std::string& rule, const std::string& mistake) {
    const auto set = select_rules(rule);
    EXPECT_TRUE(set.ok());
    MutantTrialOptions options;
    options.checks = 500;
    MutantTrial trial(set->rules[0], known_, options);
    for (const Mutant& mutant : mutants_of(set->rules[0])) {
      if (mutant.mistake == mistake) return trial.outcome(mutant, true);
    }
    ADD_FAILURE() << "no mutant: " << mistake;
    return MutantOutcome::kWrong;
  }

  KnownOperators known_;
};

TEST_F(MutantTrials, RefuteWhatTensorsTellApart) {
  EXPECT_EQ(outcome_of("neg-sub", "operands 1 and 2 of sub exchanged"), MutantOutcome::kRefuted);
  EXPECT_EQ(outcome_of("relu-of-positive-multiple", "without the condition splat_of(?c) > 0"),
            MutantOutcome::kRefuted);
}

// Proofs speak of elements, and of a slice of nothing there are none; but the right side divides
// integers by zero where a window has only padding.
TEST_F(MutantTrials, DoNotBlameAProofForARunThatFails) {
  EXPECT_EQ(outcome_of("avg-pool-slice-3", "without the condition is_float(?x0)"),
            MutantOutcome::kRefuted);
}

TEST_F(MutantTrials, KnowWhatIsNoRuleOrNoMistake) {
  // A matrix has no such axis.
  EXPECT_EQ(outcome_of("sum-of-matmuls", "1 in axis of concat off by one"), MutantOutcome::kNoRule);
  EXPECT_EQ(outcome_of("mul-neg-neg", "operands 1 and 2 of mul exchanged"), MutantOutcome::kTrue);
  // Well-typed only where dim(?x, 1) is dim(?x, 0).
  EXPECT_EQ(outcome_of("reshape-of-concat", "0 in shape of reshape off by one"),
            MutantOutcome::kSame);
}

}  // namespace
}  // namespace egret::rules
