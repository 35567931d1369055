// SPDX-License-Identifier: Apache-2.0
#include "rules/mutation.h"

#include <gtest/gtest.h>

#include <set>

#include "rules/rule_set.h"
#include "rules/tester.h"
#include "rules/verification.h"

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
  KnownSignatures known;
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

}  // namespace
}  // namespace egret::rules
