// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/condition_inference.h"

#include <gtest/gtest.h>

#include <string>

#include "rules/proving/verification.h"
#include "rules/tensors/rule_set.h"
#include "tests/paths.h"

namespace egret::rules {
namespace {

// Without its last condition each rule is wrong; with it, it is proven; and inference finds it.
TEST(ConditionInference, FindsWhatWasDropped) {
  const auto rules =
      select_rules(std::string(EGRET_SOURCE_DIR) + "/tests/verifier/data/dropped_conditions.rules");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  for (const Rule& rule : rules->rules) {
    KnownOperators known;
    const VerifyOptions options{.tensor_checks = 60, .instances = 60, .small_effort = 0};
    const Verdict whole = verify(rule, options, known);
    EXPECT_EQ(to_string(whole.status), "proven") << rule.name << ": " << whole.reason;
    Rule less = rule;
    less.conditions.pop_back();
    EXPECT_EQ(to_string(verify(less, options, known).status), "refuted") << rule.name;
    const auto found = infer_condition(less, options, known);
    ASSERT_TRUE(found.has_value()) << rule.name;
    EXPECT_EQ(found->text, to_string(rule, rule.conditions.back())) << rule.name;
    EXPECT_EQ(to_string(found->verdict.status), "proven") << rule.name << ": " << found->text;
  }
}

}  // namespace
}  // namespace egret::rules
