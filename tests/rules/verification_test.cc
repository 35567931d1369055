// SPDX-License-Identifier: Apache-2.0
#include "rules/verification.h"

#include <gtest/gtest.h>

#include "rules/rule_parser.h"
#include "rules/rule_set.h"
#include "rules/rule_status.h"

namespace egret::rules {
namespace {

Rule parsed(std::string_view text) {
  auto rules = parse_rules("test.rules", "rule test " + std::string(text));
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return rules->front();
}

Verdict verdict_of(const Rule& rule, int instances = 60) {
  KnownSignatures known;
  VerifyOptions options;
  options.instances = instances;
  options.tensor_checks = instances;
  return verify(rule, options, known);
}

void expect_proven(std::string_view selection) {
  const auto set = select_rules(selection);
  ASSERT_TRUE(set.ok()) << set.status().message();
  for (const Rule& rule : set->rules) {
    const Verdict verdict = verdict_of(rule);
    EXPECT_EQ(to_string(verdict.status), "proven") << rule.name << ": " << verdict.reason;
  }
}

TEST(Verification, ProvesThatPointwiseOperatorsPassMovesOfData) {
  expect_proven("transpose-of-relu,slice-of-relu,concat-of-relus,slice-of-sum,concat-of-sums");
}
TEST(Verification, ProvesLawsOfTransposes) {
  expect_proven("transpose-of-matmul,matmul-of-transposes,transpose-of-concat,transpose-of-slice");
}
TEST(Verification, ProvesLawsOfSlicesAndConcatenations) {
  expect_proven("slice-of-slice,slice-of-first,slice-of-second,concat-of-adjacent-slices");
}
TEST(Verification, ProvesLawsOfProducts) {
  expect_proven(
      "matmul-associates,sum-of-matmuls,concat-of-matmuls-sharing-left,sum-of-matmuls-sharing-"
      "left");
}
TEST(Verification, ProvesLawsOfConvolutionsForAllStridesPadsAndDilations) {
  expect_proven(
      "sum-of-convs-sharing-input,sum-of-convs,concat-of-convs-sharing-input,scale-channels");
}
TEST(Verification, ProvesLawsOfPools) {
  expect_proven("max-pool-of-relu,concat-of-max-pools,drop-max-pool-of-one");
}

TEST(Verification, RefutesWithTensors) {
  const Verdict verdict = verdict_of(parsed("matmul(?a, ?b) => matmul(?b, ?a)"));
  EXPECT_EQ(to_string(verdict.status), "refuted");
  for (const char* part : {"?a: ", "?b = ", "left  out = ", "right out = "})
    EXPECT_NE(verdict.reason.find(part), std::string::npos) << verdict.reason;
}

// What random tensors miss must not be proven either: no tensors are tried here.
TEST(Verification, DoesNotProveWhatIsWrong) {
  constexpr std::string_view kWrong[] = {
      "matmul(?a, ?b) => matmul(?b, ?a)",
      "sub(?a, ?b) => sub(?b, ?a)",
      "relu(?x) => ?x",
      "relu(?x) => abs(?x)",
      "add(?x, ?y) where same_type(out, ?x) => ?x",
      "transpose{perm=?p}(transpose{perm=?q}(?x)) => transpose{perm=compose(?p, ?q)}(?x)",
      "transpose{*}(?x) => reshape{shape=shape(out)}(?x)",
      "slice{axis=?a, start=?b, size=?n, step=?s}(slice{axis=?a, start=?c, size=?m, step=?t}(?x)) "
      "=> slice{axis=?a, start=?b + ?c, size=?n, step=?s * ?t}(?x)",
      "concat{axis=?a}(?x, ?y) => concat{axis=?a}(?y, ?x)",
      "reduce_max{*r}(neg(?x)) => neg(reduce_max{*r}(?x))",
      "max_pool{*p}(neg(?x)) => neg(max_pool{*p}(?x))",
      "concat{axis=1}(conv{*c}(?x, ?v), conv{*c}(?x, ?w)) => conv{*c}(?x, concat{axis=0}(?v, ?w))",
      "avg_pool{*p}(relu(?x)) => relu(avg_pool{*p}(?x))",
  };
  VerifyOptions options;
  options.tensor_checks = 0;
  options.instances = 200;
  KnownSignatures known;
  for (const std::string_view text : kWrong) {
    const Verdict verdict = verify(parsed(text), options, known);
    EXPECT_EQ(to_string(verdict.status), "undecided") << text << "\n" << verdict.reason;
  }
}

TEST(Verification, RejectsRulesThatSayNothing) {
  EXPECT_EQ(to_string(verdict_of(parsed("relu(?x) => relu(?x)")).status), "trivial");
  EXPECT_EQ(
      to_string(verdict_of(parsed("relu(?x) where rank(?x) == 1 and rank(?x) == 2 => abs(?x)"), 5)
                    .status),
      "vacuous");
}

TEST(Verification, TreatsOpenRealsAsUnknown) {
  expect_proven("batch-norm-as-scale,drop-pad,hard-swish-from-hard-sigmoid");
  // True for one slope, not for all.
  const Verdict wrong = verdict_of(
      parsed("leaky_relu{alpha=?a}(leaky_relu{alpha=?a}(?x)) => leaky_relu{alpha=?a}(?x)"));
  EXPECT_EQ(to_string(wrong.status), "refuted");
}

TEST(Verification, KeepsProofsUntilDefinitionsChange) {
  const Rule rule = parsed("relu(relu(?x)) => relu(?x)");
  RuleStatuses statuses;
  const Verdict verdict = verdict_of(rule);
  ASSERT_EQ(to_string(verdict.status), "proven");
  statuses.record(rule, verdict);
  EXPECT_EQ(statuses.of(rule), RuleStatus::kProven);
  EXPECT_EQ(statuses.definitions(), definitions_hash());
  const auto again = parse_statuses(statuses.to_json());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->of(rule), RuleStatus::kProven);
  EXPECT_EQ(again->to_json(), statuses.to_json());

  // Proofs of other definitions are void once a proof of these is recorded.
  std::string old = statuses.to_json();
  old.replace(old.find(definitions_hash()), 4, "0000");
  auto voided = parse_statuses(old);
  ASSERT_TRUE(voided.ok());
  const Rule other = parsed("relu(relu(relu(?x))) => relu(?x)");
  voided->record(other, verdict_of(other));
  EXPECT_EQ(voided->of(rule), RuleStatus::kUntested);
  EXPECT_EQ(voided->of(other), RuleStatus::kProven);
}

TEST(Verification, OfTheRulesThatComeWithEgretIsOfTheseDefinitions) {
  const auto statuses = builtin_statuses();
  ASSERT_TRUE(statuses.ok());
  ASSERT_FALSE(statuses->definitions().empty());
  EXPECT_EQ(statuses->definitions(), definitions_hash())
      << "proofs are void: run verify_rules all rules/data/status.json";
}

TEST(Verification, RepeatsItself) {
  const auto set = select_rules("sum-of-convs");
  ASSERT_TRUE(set.ok());
  const Verdict first = verdict_of(set->rules[0], 30);
  const Verdict second = verdict_of(set->rules[0], 30);
  EXPECT_EQ(first.proofs, second.proofs);
  EXPECT_EQ(first.queries, second.queries);
}

}  // namespace
}  // namespace egret::rules
