// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/condition_inference.h"

#include <gtest/gtest.h>

#include <string>

#include "rules/proving/verification.h"
#include "rules/tensors/rule_set.h"
#include "tests/paths.h"
#include "tests/rules/parsed_rule.h"

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
    // A sum of exponentials has no closed form; and leaky_relu{1} is the identity.
    const bool is_open = rule.name == "softmax-of-shift" || rule.name == "leaky-of-leaky";
    EXPECT_EQ(found->weakest == InferredCondition::Weakest::kProven, !is_open)
        << rule.name << ": " << found->why_not_proven;
  }
}

// The sides differ on every instance with elements, or they do not.
TEST(ConditionInference, ProvesThatSidesDiffer) {
  const auto verdict_of = [](const std::string& text) {
    KnownOperators known;
    const VerifyOptions options = differing({.instances = 60, .small_effort = 20'000});
    const Verdict verdict = verify(parsed(text), options, known);
    return verdict.status == Verdict::Status::kProven && verdict.cover.open.empty();
  };
  EXPECT_TRUE(verdict_of(
      "add(?x, ?y) where is_float(?x) and rank(?x) == 1 and rank(?y) == 1 => sub(?x, ?y)"));
  EXPECT_TRUE(
      verdict_of("slice{axis=0, start=?s, size=?n, step=1}(?x) where rank(?x) == 1 and "
                 "is_float(?x) and ?s > 0 "
                 "=> slice{axis=0, start=0, size=?n, step=1}(?x)"));
  // Equal at one start.
  EXPECT_FALSE(verdict_of(
      "slice{axis=0, start=?s, size=?n, step=1}(?x) where rank(?x) == 1 and is_float(?x) "
      "=> slice{axis=0, start=0, size=?n, step=1}(?x)"));
  // Equal beyond a size that is not drawn.
  EXPECT_FALSE(
      verdict_of("relu(?x) where rank(?x) == 1 and is_float(?x) => "
                 "mul(relu(?x), value(if(dim(?x, 0) > 5000, 1.0, 2.0)))"));
  EXPECT_FALSE(verdict_of("relu(?x) => relu(relu(?x))"));
}

}  // namespace
}  // namespace egret::rules
