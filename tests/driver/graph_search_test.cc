// SPDX-License-Identifier: Apache-2.0
#include "driver/search/graph_search.h"

#include <gtest/gtest.h>

#include "driver/optimize.h"
#include "driver/search/backtracking.h"
#include "driver/search/flow_split.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "ir/graph/constant_nodes.h"
#include "rules/language/rule_parser.h"
#include "rules/tensors/term_graph.h"
#include "zoo/zoo.h"

namespace egret::driver {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Tensor;
using ir::Value;

rules::AdmittedRules rules_of(std::string_view text) {
  rules::RuleSet set;
  set.rules = *rules::parse_rules("test.rules", std::string(text));
  return *rules::AdmittedRules::admit(std::move(set), {}, rules::RuleStatus::kUntested);
}

// Each operator costs as many seconds as its name says.
PriceOf priced(std::map<std::string, double> prices) {
  return [prices = std::move(prices)](const cost::Query& query) -> base::Result<double> {
    const auto found = prices.find(std::string(query.op->name()));
    if (found == prices.end()) return base::unsupported("no price");
    return found->second;
  };
}

bool same_program(const ir::Graph& a, const ir::Graph& b) {
  const auto terms = *rules::TensorEGraph::from_graph(a);
  const std::vector<egraph::ClassId> term_of = rules::terms_of(*terms, b);
  return std::ranges::equal(
      terms->roots(), b.outputs(), {}, {},
      [&](const ir::Graph::Output& output) { return term_of[output.node.index()]; });
}

ir::Graph relu_of_neg_neg() {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {8}});
  b.output("y", b.add("relu", {b.add("neg", {b.add("neg", {x})})}));
  return *b.finish();
}

// From relu(neg(neg(x))), price 3, to abs-free relu(x), price 1, by way of a graph of price 4.
constexpr std::string_view kDetour =
    "rule up neg(neg(?x)) => tanh(sqrt(neg(neg(?x))))\n"
    "rule down tanh(sqrt(neg(neg(?x)))) => ?x\n";
const std::map<std::string, double> kDetourPrices{
    {"relu", 1}, {"neg", 1}, {"tanh", 0.5}, {"sqrt", 0.5}};

TEST(Backtracking, FollowsStepsThatCostSomethingUpToAlpha) {
  GraphSearchOptions options;
  options.alpha = 1.0;
  const auto greedy =
      backtrack(relu_of_neg_neg(), rules_of(kDetour), priced(kDetourPrices), options);
  ASSERT_TRUE(greedy.ok()) << greedy.status().message();
  EXPECT_EQ(greedy->cost, 3);
  EXPECT_EQ(greedy->stop_reason, "exhausted");
  EXPECT_EQ(greedy->rewritten, 1U);
  options.alpha = 1.5;
  const auto patient =
      backtrack(relu_of_neg_neg(), rules_of(kDetour), priced(kDetourPrices), options);
  EXPECT_EQ(patient->cost, 1);
  EXPECT_EQ(patient->graph.operator_count(), 1U);
  EXPECT_EQ(patient->applied, (std::map<std::string, std::uint64_t>{{"up", 1}, {"down", 1}}));
}

TEST(Backtracking, SeesEqualGraphsOnce) {
  GraphBuilder b;
  Value sum = b.input("x0", {DType::kF32, {4}});
  for (int i = 1; i < 4; ++i)
    sum = b.add("add", {sum, b.input("x" + std::to_string(i), {DType::kF32, {4}})});
  b.output("y", sum);
  const auto found = backtrack(*b.finish(), rules_of("rule swap add(?a, ?b) => add(?b, ?a)"),
                               priced({{"add", 1}}), {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->stop_reason, "exhausted");
  EXPECT_EQ(found->seen, 8U);  // each of three sums either way
  // With associativity: all sums of four things, 5 shapes of 24 orders.
  GraphBuilder c;
  Value again = c.input("x0", {DType::kF32, {4}});
  for (int i = 1; i < 4; ++i)
    again = c.add("add", {again, c.input("x" + std::to_string(i), {DType::kF32, {4}})});
  c.output("y", again);
  const auto all = backtrack(*c.finish(),
                             rules_of("rule swap add(?a, ?b) => add(?b, ?a)\n"
                                      "rule turn add(add(?a, ?b), ?c) => add(?a, add(?b, ?c))"),
                             priced({{"add", 1}}), {});
  EXPECT_EQ(all->seen, 120U);
}

TEST(Backtracking, AppliesRulesWithSeveralSources) {
  GraphBuilder b;
  base::Random random(1);
  const Value x = b.input("x", {DType::kF32, {4, 6}});
  for (const std::string name : {"y", "z"}) {
    b.output(name, b.add("matmul", {x, b.constant(Tensor::random({DType::kF32, {6, 5}}, random))}));
  }
  const ir::Graph graph = *b.finish();
  const auto found = backtrack(graph, *rules::AdmittedRules::select("merge-matmuls-sharing-left"),
                               priced({{"matmul", 10}, {"slice", 1}, {"concat", 1}}), {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->cost, 12);  // the weights are joined once, before the first run
  EXPECT_EQ(found->applied.at("merge-matmuls-sharing-left"), 1U);
  const std::vector<Tensor> inputs{Tensor::random({DType::kF32, {4, 6}}, random)};
  const auto before = *ir::interpret(graph, inputs);
  const auto after = *ir::interpret(found->graph, inputs);
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::int64_t i = 0; i < before[k].elements(); ++i)
      EXPECT_NEAR(before[k].f64_at(i), after[k].f64_at(i), 1e-5);
  }
}

TEST(Backtracking, ObeysItsLimits) {
  GraphSearchOptions options;
  options.alpha = 2;
  options.budget = 1;
  const auto found = [&] {
    return *backtrack(relu_of_neg_neg(), rules_of(kDetour), priced(kDetourPrices), options);
  };
  EXPECT_EQ(found().stop_reason, "budget");
  EXPECT_FALSE(found().limit_hit);
  options.budget = 1000;
  options.seconds = 0;
  EXPECT_EQ(found().stop_reason, "time limit");
  EXPECT_TRUE(found().limit_hit);
  EXPECT_TRUE(same_program(found().graph, relu_of_neg_neg()));
  options.seconds = 10;
  options.bytes = 1;
  EXPECT_EQ(found().stop_reason, "byte limit");
}

TEST(Backtracking, WhatCannotBePricedIsNotChosen) {
  const auto found = backtrack(relu_of_neg_neg(), rules_of("rule fast neg(neg(?x)) => exp(?x)"),
                               priced({{"relu", 1}, {"neg", 1}}), {});
  EXPECT_EQ(found->cost, 3);
  EXPECT_FALSE(backtrack(relu_of_neg_neg(), rules_of(kDetour), priced({}), {}).ok());
}

ir::Graph zoo_graph(std::string_view name) { return *zoo::find_model(name)->build({}); }

TEST(Regions, GoOutAndComeBackAsTheyWere) {
  const ir::Graph graph = ir::without_dead_nodes(zoo_graph("squeezenet1.1"));
  base::Random random(5);
  for (int round = 0; round < 20; ++round) {
    Members members(graph.size(), 0);
    const std::vector<bool> constant = ir::constant_nodes(graph);
    const std::size_t centre = random.below(graph.size());
    for (std::size_t i = centre; i < std::min(graph.size(), centre + 12); ++i) {
      const bool computed =
          graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator && !constant[i];
      members[i] = computed && random.below(3) > 0 ? 1 : 0;
    }
    members = convex(graph, members);
    const Region region = cut_out(graph, members);
    ASSERT_TRUE(region.graph.check_invariants().ok());
    const PutBack joined = put_back(graph, region, region.graph);
    ASSERT_TRUE(joined.graph.check_invariants().ok());
    EXPECT_TRUE(same_program(joined.graph, graph));
  }
}

TEST(FlowSplit, PartsAreDisjointSmallAndOrdered) {
  const ir::Graph graph = ir::without_dead_nodes(zoo_graph("inception-v3"));
  const FlowSplit split = split_by_flow(graph, std::vector<std::int64_t>(graph.size(), 1), 30);
  std::vector<int> part_of(graph.size(), -1);
  std::size_t members = 0;
  for (std::size_t k = 0; k < split.parts.size(); ++k) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if (split.parts[k][i] == 0) continue;
      EXPECT_EQ(part_of[i], -1);
      part_of[i] = static_cast<int>(k);
      ++size;
    }
    EXPECT_LE(size, 30U);
    EXPECT_EQ(convex(graph, split.parts[k]), split.parts[k]);
    members += size;
  }
  EXPECT_EQ(split.cuts.size(), split.parts.size() - 1);
  const std::vector<bool> constant = ir::constant_nodes(graph);
  std::size_t computed = 0;
  for (std::size_t i = 0; i < graph.size(); ++i)
    computed += graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator && !constant[i];
  EXPECT_EQ(members, computed);
}

// A chain in which one value may be cut without harm.
TEST(FlowSplit, CutsWhereTheFewestRulesReachAcross) {
  GraphBuilder b;
  Value value = b.input("x", {DType::kF32, {4}});
  for (int i = 0; i < 12; ++i) value = b.add("relu", {value});
  b.output("y", value);
  const ir::Graph graph = *b.finish();
  std::vector<std::int64_t> capacity(graph.size(), 5);
  capacity[7] = 1;
  const FlowSplit split = split_by_flow(graph, capacity, 8);
  ASSERT_EQ(split.cuts.size(), 1U);
  EXPECT_EQ(split.cuts[0], std::vector<ir::NodeId>{ir::NodeId(7)});
}

OptimizeOptions quick(std::string extractor) {
  OptimizeOptions options;
  options.cost = "roofline";
  options.cost_db = testing::TempDir() + "no_costs.sqlite";
  options.no_measure = true;
  options.extractor = std::move(extractor);
  return options;
}

// A model of which it is known what can be gained: its batch norms go into its convolutions.
class SearchOfModel : public ::testing::TestWithParam<std::string_view> {};

TEST_P(SearchOfModel, FoldsBatchNormsAndIsChecked) {
  OptimizeOptions options = quick(std::string(GetParam()));
  options.search_budget = 300;
  options.limit_time = 60;
  options.rules = "conv,fold*,batch*";
  const auto result = optimize(zoo_graph("resnet18"), options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const OptimizeReport& r = result->report;
  EXPECT_TRUE(r.check.made && r.check.outputs.passed);
  EXPECT_EQ(r.operators.before.at("BatchNormalization"), 20);
  EXPECT_FALSE(r.operators.after.contains("BatchNormalization"));
  EXPECT_LT(r.predicted.after_s, r.predicted.before_s);
  EXPECT_GT(r.growth.graphs_seen, 1U);
  EXPECT_FALSE(r.rules.used.empty());
}

std::string test_name(const ::testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param);
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, SearchOfModel,
                         ::testing::Values("backtracking", "backtracking-split"), test_name);

}  // namespace
}  // namespace egret::driver
