// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/tester.h"

#include <gtest/gtest.h>

#include "rules/language/rule_parser.h"
#include "rules/proving/record.h"
#include "rules/tensors/rule_set.h"
#include "rules/tensors/rule_status.h"

namespace egret::rules {
namespace {

Rule parsed(std::string_view text) {
  auto rules = parse_rules("test.rules", text);
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return rules->front();
}

TEST(Tester, EveryRuleThatComesWithEgretHoldsOnRandomInstances) {
  const auto rules = builtin_rules();
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  TestOptions options;
  options.checks = 12;
  options.seed = 7;
  KnownOperators known;
  for (const Rule& rule : *rules) {
    const TestReport report = test_rule(rule, options, known);
    EXPECT_EQ(to_string(report.verdict), "tested")
        << rule.name << ": " << report.checks << " checks in " << report.attempts << " attempts\n"
        << report.counterexample;
  }
}

TEST(Tester, EveryRuleThatComesWithEgretHasItsTestsOnRecord) {
  const auto set = select_rules("all");
  const auto statuses = builtin_statuses();
  ASSERT_TRUE(set.ok() && statuses.ok());
  const base::Status status = require_status(*set, *statuses, RuleStatus::kTested);
  EXPECT_TRUE(status.ok()) << status.message()
                           << "\n(run: test_rules all 10000 rules/data/status.json)";
  for (const Rule& rule : set->rules) {
    const RuleStatuses::Entry* entry = statuses->find(content_hash(rule));
    EXPECT_TRUE(entry != nullptr && entry->checks >= 150) << rule.name;
  }
}

// Rules with a mistake of the kind that people make: a missing condition, an exchanged operand, a
// wrong axis, place, pad or factor.
TEST(Tester, FindsPlantedMistakes) {
  constexpr std::string_view kWrong[] = {
      "matmul(?a, ?b) => matmul(?b, ?a)",
      "sub(?a, ?b) => sub(?b, ?a)",
      "relu(?x) => ?x",
      "relu(?x) => abs(?x)",
      "abs(?x) => ?x",
      "sqrt(mul(?x, ?x)) => ?x",
      "add(?x, ?y) => ?x where same_type(out, ?x)",
      "mul(?x, 1) => add(?x, 1) where same_type(out, ?x)",
      "transpose{perm=?p}(transpose{perm=?q}(?x)) => transpose{perm=compose(?p, ?q)}(?x)",
      "transpose{*}(?x) => reshape{shape=shape(out)}(?x)",
      "transpose{perm=?p}(softmax{axis=?a}(?x)) => softmax{axis=?a}(transpose{perm=?p}(?x))",
      "transpose{perm=?p}(softmax{axis=?a}(?x)) => softmax{axis=?p[?a]}(transpose{perm=?p}(?x))",
      "relu(mul(?x, ?c)) => mul(relu(?x), ?c) where is_splat(?c) and same_type(out, ?x)",
      "slice{axis=?a, start=?b, size=?n, step=?s}(slice{axis=?a, start=?c, size=?m, step=?t}(?x)) "
      "=> slice{axis=?a, start=?b + ?c, size=?n, step=?s * ?t}(?x)",
      "concat{axis=?a}(?x, ?y) => concat{axis=?a}(?y, ?x)",
      "slice{axis=?a, *s}(softmax{axis=?b}(?x)) => softmax{axis=?b}(slice{axis=?a, *s}(?x))",
      "reduce_mean{axes=?a, keepdims=1}(reduce_mean{axes=?b, keepdims=1}(?x)) => "
      "reduce_sum{axes=sorted(?a ++ ?b), keepdims=1}(?x)",
      "reduce_max{*r}(neg(?x)) => neg(reduce_max{*r}(?x))",
      "log_softmax{axis=?a}(?x) => softmax{axis=?a}(?x)",
      "max_pool{*p}(neg(?x)) => neg(max_pool{*p}(?x))",
      // Grouped convolutions do not merge so.
      "concat{axis=1}(conv{*c}(?x, ?v), conv{*c}(?x, ?w)) => conv{*c}(?x, concat{axis=0}(?v, ?w))",
      // Padding before a sum is no padding after it.
      "conv{*c}(add(?x, ?t), ?w) where elements(?t) == 1 and rank(?t) == 0 => "
      "add(conv{*c}(?x, ?w), mul(reduce_sum{axes=[], keepdims=0}(?t), 1))",
      "fused_conv{pads=?p, *c}(pad{before=?b, after=?a, mode=\"constant\", value=0.0}(?x), ?w, ?v) "
      "where sum(?b) == ?b[2] and sum(?a) == ?a[2] and rank(?x) == 3 => "
      "fused_conv{*c, pads=?p + [?a[2], ?b[2]]}(?x, ?w, ?v)",
      "avg_pool{*p}(relu(?x)) => relu(avg_pool{*p}(?x))",
      "fused_conv{*c, activation=\"relu\"}(?x, ?w, ?b, ?r) => "
      "add(fused_conv{*c, activation=\"relu\"}(?x, ?w, ?b), ?r)",
      "batch_norm{epsilon=?e}(?x, ?s, ?b, ?m, ?v) => batch_norm{epsilon=?e}(?x, ?s, ?m, ?b, ?v)",
      "p = matmul(?x, ?a) q = matmul(?x, ?b) where rank(?a) == 2 and rank(?b) == 2 and rank(?x) == "
      "2 "
      "let m = matmul(?x, concat{axis=1}(?b, ?a)) "
      "=> p = slice{axis=1, start=0, size=dim(?a, 1), step=1}(m) "
      "q = slice{axis=1, start=dim(?a, 1), size=dim(?b, 1), step=1}(m)",
      "layer_norm{*l}(?x, ?g, ?b) => add(layer_norm{*l}(?x, ?b), ?g)",
      "attention{scale=?s, causal=0}(?q, ?k, ?v) => attention{scale=?s, causal=1}(?q, ?k, ?v)",
      "gather{axis=?a}(?x, ?i) where rank(?i) == 1 and elements(?i) == 1 => "
      "slice{axis=?a, start=0, size=1, step=1}(?x)",
  };
  TestOptions options;
  options.checks = 1000;
  KnownOperators known;
  for (const std::string_view text : kWrong) {
    const TestReport report = test_rule(parsed("rule wrong " + std::string(text)), options, known);
    EXPECT_EQ(to_string(report.verdict), "refuted")
        << text << ": " << report.checks << " checks in " << report.attempts << " attempts";
  }
}

TEST(Tester, ShowsACounterexampleInFull) {
  const TestReport report =
      test_rule(parsed("rule wrong transpose{perm=?p}(?x) => reshape{shape=shape(out)}(?x)"));
  ASSERT_EQ(to_string(report.verdict), "refuted");
  for (const char* part :
       {"rule wrong\n", "  ?x: ", "  ?p = [", "  ?x = ", "  left  out = ", "  right out = "}) {
    EXPECT_NE(report.counterexample.find(part), std::string::npos) << report.counterexample;
  }
}

TEST(Tester, SaysWhenTheRightSideFailsAsAWhole) {
  const Rule rule =
      parsed("rule fails\n  neg(?x) where not is_float(?x) => div(?x, sub(?x, ?x))\n");
  TestOptions options;
  options.checks = 200;
  const TestReport report = test_rule(rule, options);
  EXPECT_EQ(to_string(report.verdict), "refuted");
  EXPECT_TRUE(report.right_fails) << report.counterexample;
  EXPECT_FALSE(test_rule(parsed("rule differs\n  relu(?x) => abs(?x)\n"), options).right_fails);
}

TEST(Tester, SaysWhenItFindsNoInstance) {
  TestOptions options;
  options.checks = 10;
  options.attempts_per_check = 10;
  const TestReport report =
      test_rule(parsed("rule never relu(?x) where rank(?x) == 1 and rank(?x) == 2 => ?x"), options);
  EXPECT_EQ(to_string(report.verdict), "untestable");
}

TEST(Tester, RepeatsItself) {
  const Rule rule = parsed("rule wrong sub(?a, ?b) => sub(?b, ?a)");
  EXPECT_EQ(test_rule(rule).counterexample, test_rule(rule).counterexample);
}

TEST(RuleStatuses, AreReadBackAndVoidedByAnEdit) {
  RuleStatuses statuses;
  const Rule rule = parsed("rule a relu(relu(?x)) => relu(?x)");
  EXPECT_EQ(statuses.of(rule), RuleStatus::kUntested);
  TestOptions options;
  options.checks = 20;
  record(statuses, rule, test_rule(rule, options));
  const auto again = parse_statuses(statuses.to_json());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->of(rule), RuleStatus::kTested);
  EXPECT_EQ(again->to_json(), statuses.to_json());
  const Rule edited = parsed("rule a relu(relu(?x)) where rank(?x) == 2 => relu(?x)");
  EXPECT_EQ(again->of(edited), RuleStatus::kUntested);
  RuleSet set{{rule, edited}, {}};
  EXPECT_EQ(require_status(set, *again, RuleStatus::kTested).message(),
            "these rules are not tested: a (untested). Remove them from --rules, or use --allow "
            "untested");
  EXPECT_FALSE(parse_statuses("{\"rules\": {\"x\": {\"name\": 1}}}").ok());
}

}  // namespace
}  // namespace egret::rules
