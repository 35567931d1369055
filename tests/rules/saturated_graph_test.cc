// SPDX-License-Identifier: Apache-2.0
#include "rules/tensors/saturated_graph.h"

#include <gtest/gtest.h>

#include "ir/graph/builder.h"
#include "rules/language/rule_parser.h"

namespace egret::rules {
namespace {

ir::Graph sum_of_relus() {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {4}));
  const ir::Value y = b.input("y", ir::TensorType(ir::DType::kF32, {4}));
  b.output("z", b.add("add", {b.add("relu", {x}), b.add("relu", {y})}));
  return *b.finish();
}

AdmittedRules set_of(const std::string& text) {
  RuleSet set;
  set.rules = *parse_rules("test", text);
  return *AdmittedRules::admit(std::move(set), {}, RuleStatus::kUntested);
}

TEST(SaturatedGraph, IsTheSameWithAnyNumberOfThreads) {
  const AdmittedRules exchange =
      set_of("rule exchange\n out = add(?a, ?b)\n => out = add(?b, ?a)\n");
  for (const std::int64_t threads : {0, 1, 2, 5}) {
    const auto saturated = saturate(sum_of_relus(), exchange, {}, threads);
    ASSERT_TRUE(saturated.ok()) << saturated.status().message();
    EXPECT_EQ(saturated->run.stop, egraph::StopReason::kSaturated);
    EXPECT_EQ(saturated->rules.size(), 1U);
    EXPECT_EQ(saturated->tensors->egraph().node_count(), 6U);  // x, y, relus, both sums
    EXPECT_EQ(saturated->tensors->egraph().class_count(), 5U);
  }
}

TEST(SaturatedGraph, KeepsWhatWasFoundUpToALimit) {
  const AdmittedRules exchange =
      set_of("rule exchange\n out = add(?a, ?b)\n => out = add(?b, ?a)\n");
  SaturateOptions options;
  options.limits.iterations = 0;
  const auto saturated = saturate(sum_of_relus(), exchange, options, 1);
  ASSERT_TRUE(saturated.ok());
  EXPECT_EQ(saturated->run.stop, egraph::StopReason::kIterationLimit);
  EXPECT_EQ(saturated->tensors->egraph().node_count(), 5U);
}

TEST(SaturatedGraph, AddsRulesThatHoldByConstruction) {
  const AdmittedRules nothing = set_of("rule none relu(relu(?x)) => relu(?x)");
  const auto exchange = [](TensorEGraph& tensors) {
    return compile(set_of("rule exchange add(?a, ?b) => add(?b, ?a)"), tensors);
  };
  const auto saturated = saturate(sum_of_relus(), nothing, {}, 1, exchange);
  ASSERT_TRUE(saturated.ok());
  EXPECT_EQ(saturated->rules.size(), 2U);
  EXPECT_EQ(saturated->tensors->egraph().node_count(), 6U);
}

TEST(AdmittedRules, AreKnownAsWellAsWasAskedFor) {
  EXPECT_TRUE(AdmittedRules::select("default").ok());
  RuleSet set;
  set.rules = *parse_rules("test", "rule wrong relu(?x) => ?x");
  const auto refused = AdmittedRules::admit(set, {}, RuleStatus::kProven);
  EXPECT_EQ(refused.status().code(), base::StatusCode::kUsage);
  EXPECT_NE(refused.status().message().find("wrong (untested)"), std::string::npos)
      << refused.status().message();
  const auto allowed = AdmittedRules::admit(set, {}, RuleStatus::kUntested);
  ASSERT_TRUE(allowed.ok());
  EXPECT_EQ(allowed->not_proven(), std::vector<std::string>{"wrong"});
  EXPECT_EQ(allowed->status_of("wrong"), "untested");
  EXPECT_EQ(AdmittedRules::select("default", "perhaps").status().message(),
            "invalid value of --allow: 'perhaps'");
}

// How many nodes there are once operands of sums were exchanged, by a rule with this limit.
std::size_t nodes_after_exchange(const ir::Graph& graph, RuleLimit limit) {
  RuleSet set;
  set.rules = *parse_rules("test", "rule exchange add(?a, ?b) => add(?b, ?a)");
  RuleStatuses statuses;
  statuses.record_proof(set.rules.front(), RuleStatus::kProven, {.limit = std::move(limit)});
  const auto read = parse_statuses(statuses.to_json());
  EXPECT_TRUE(read.ok());
  const auto rules = AdmittedRules::admit(std::move(set), *read, RuleStatus::kProven);
  EXPECT_TRUE(rules.ok());
  return saturate(graph, *rules, {}, 1)->tensors->egraph().node_count();
}

// A rule runs only on ranks for which it is proven.
TEST(AdmittedRules, RunWithinTheirLimits) {
  const auto nodes_with = [](RuleLimit limit) {
    return nodes_after_exchange(sum_of_relus(), std::move(limit));
  };
  EXPECT_EQ(nodes_with({}), 6U);
  EXPECT_EQ(nodes_with({.rank = 1}), 6U);
  EXPECT_EQ(nodes_with({.rank = 0}), 5U);
  EXPECT_EQ(nodes_with({.rank = 4, .open = {{1, 1}}}), 5U);
  EXPECT_EQ(nodes_with({.rank = 4, .open = {{1, 0}, {2, 2}}}), 6U);
}

// Proofs are about sizes of at least 1, or about instances with a size of 0.
TEST(AdmittedRules, RunOnEmptyTensorsOnlyIfProvenForThem) {
  const auto graph = [](std::int64_t size) {
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {size, 3}));
    const ir::Value y = b.input("y", ir::TensorType(ir::DType::kF32, {size, 3}));
    b.output("z", b.add("add", {x, y}));
    return *b.finish();
  };
  const auto nodes_with = [&](std::int64_t size, RuleLimit limit) {
    return nodes_after_exchange(graph(size), std::move(limit));
  };
  EXPECT_EQ(nodes_with(2, {}), 4U);
  EXPECT_EQ(nodes_with(0, {}), 4U) << "sums without elements are equal";
  EXPECT_EQ(nodes_with(2, {.of_empty = true}), 3U);
  EXPECT_EQ(nodes_with(0, {.of_empty = true}), 4U);
}

// A sum over no elements has elements, about which a proof for positive sizes says nothing.
TEST(AdmittedRules, RunOnEmptyTensorsWhereTheResultIsEmpty) {
  const auto changes = [&](std::int64_t rows, std::int64_t columns) {
    ir::GraphBuilder b;
    const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, {rows, columns}));
    b.output("y", b.add("reduce_sum", {x}, {{"axes", ir::Integers{0}}}));
    RuleSet set;
    set.rules = *parse_rules(
        "test",
        "rule twice reduce_sum{axes=[0], *s}(?x) => reduce_sum{axes=[0], *s}(neg(neg(?x)))");
    RuleStatuses statuses;
    statuses.record_proof(set.rules.front(), RuleStatus::kProven, {});
    const auto rules = AdmittedRules::admit(std::move(set), statuses, RuleStatus::kProven);
    EXPECT_TRUE(rules.ok()) << rules.status().message();
    SaturateOptions options;
    options.limits.iterations = 2;
    return saturate(*b.finish(), *rules, options, 1)->tensors->egraph().node_count() > 2;
  };
  EXPECT_TRUE(changes(2, 3));
  EXPECT_TRUE(changes(2, 0));
  EXPECT_FALSE(changes(0, 3));
  EXPECT_FALSE(changes(0, 2));
}

TEST(RuleLimit, IsReadFromItsText) {
  EXPECT_EQ(to_string(RuleLimit()), "any rank");
  EXPECT_EQ(to_string(RuleLimit{.rank = 4, .open = {{4, 1}, {4, 4}}}),
            "rank <= 4 but not (4,1), (4,4)");
  EXPECT_EQ(to_string(RuleLimit{.rank = 2, .of_empty = true}), "rank <= 2, only with a size of 0");
  EXPECT_EQ(*parse_ranks("4,10,0"), (std::vector<int>{4, 10, 0}));
  EXPECT_TRUE(parse_ranks("")->empty());
  for (const char* wrong : {"4,", ",4", "4;1", "-1", "x", "99999999999"})
    EXPECT_FALSE(parse_ranks(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace egret::rules
