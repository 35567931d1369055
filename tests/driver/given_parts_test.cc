// SPDX-License-Identifier: Apache-2.0
// Parts that a program gives to optimize(), and runs that a stop request ends.
#include <gtest/gtest.h>

#include <csignal>

#include "base/stop.h"
#include "driver/optimize.h"
#include "egraph/schedulers/backoff.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

// relu(relu(x)): one rule makes it relu(x).
ir::Graph twice() {
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.add("relu", {b.input("x", {ir::DType::kF32, {4, 8}})})}));
  return *b.finish();
}

OptimizeOptions options() {
  OptimizeOptions options;
  options.cost = "nodes";
  options.cost_db = ":memory:";
  options.no_measure = true;
  return options;
}

std::size_t operators(const base::Result<OptimizeResult>& result) {
  return static_cast<std::size_t>(operator_count(result->report.operators.after));
}

// Counts operators, and does something at each.
class Counting final : public cost::Model {
 public:
  explicit Counting(std::function<void()> each) : each_(std::move(each)) {}
  std::string_view name() const override { return "counting"; }
  base::Result<cost::Cost> cost(const cost::Query& /*query*/) override {
    each_();
    return cost::Cost{.seconds = 1};
  }

 private:
  std::function<void()> each_;
};

TEST(GivenParts, AnExtractorIsAskedAndChecked) {
  OptimizeOptions how = options();
  how.extractor = "mine";
  int calls = 0;
  how.own_extractor = [&](const extract::Problem& problem, const extract::Options& limits) {
    ++calls;
    return extract::find_extractor("tree-greedy")->extract(problem, limits);
  };
  const auto result = optimize(twice(), how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(calls, 0);
  EXPECT_EQ(operators(result), 1u);
  EXPECT_EQ(result->report.extraction.extractor, "mine");

  how.own_extractor = [](const extract::Problem& problem, const extract::Options& limits) {
    auto solution = extract::find_extractor("tree-greedy")->extract(problem, limits);
    solution->dag_cost /= 2;  // a false claim
    return solution;
  };
  EXPECT_EQ(optimize(twice(), how).status().code(), base::StatusCode::kInternal);
}

TEST(GivenParts, ACostModelIsAsked) {
  OptimizeOptions how = options();
  how.cost = "mine";
  int calls = 0;
  how.own_cost = [&] { return std::make_unique<Counting>([&] { ++calls; }); };
  const auto result = optimize(twice(), how);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_GT(calls, 0);
  EXPECT_EQ(result->report.predicted.before_s, 2);
  EXPECT_EQ(result->report.predicted.after_s, 1);
}

TEST(GivenParts, RulesAndASchedulerAreUsed) {
  OptimizeOptions how = options();
  auto rules = rules::AdmittedRules::select("default");
  ASSERT_TRUE(rules.ok());
  how.own_rules = std::make_shared<const rules::AdmittedRules>(*rules);
  how.rules = "no such selection";  // not read
  EXPECT_EQ(operators(optimize(twice(), how)), 1u);

  class Nothing final : public egraph::BackoffScheduler {
   public:
    using BackoffScheduler::BackoffScheduler;
    std::uint64_t match_limit(std::uint64_t, std::size_t) override { return 0; }
    bool may_stop(std::uint64_t) override { return true; }
  };
  how.own_scheduler = [&](std::span<const rules::CompiledRule> compiled) {
    EXPECT_GE(compiled.size(), rules->size());
    return std::make_unique<Nothing>(1, 1);
  };
  EXPECT_EQ(operators(optimize(twice(), how)), 2u);
}

TEST(StoppedRuns, KeepTheOriginalWhereNothingWasMeasured) {
  OptimizeOptions how = options();
  how.no_measure = false;
  how.own_cost = [] { return std::make_unique<Counting>([] { base::request_stop(SIGINT); }); };
  const auto result = optimize(twice(), how);
  base::request_stop(0);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->report.status, "unchanged");
  EXPECT_EQ(result->report.growth.stop_reason, "interrupted");
  EXPECT_EQ(operators(result), 2u);
  EXPECT_FALSE(result->report.check.made);
  EXPECT_EQ(result->report.race.arena_before, 0);  // not even the original was compiled

  // The original has what must not be there.
  how.forbid = {"sigmoid"};
  EXPECT_TRUE(optimize(twice(), how).ok());
  how.limit_arena = 1 << 20;
  const auto limited = optimize(twice(), how);
  base::request_stop(0);
  EXPECT_EQ(limited.status().code(), base::StatusCode::kLimit);
}

// --no-measure trusts predictions, but what cannot be checked any more is not written.
TEST(StoppedRuns, KeepTheOriginalWhereTheCheckWasInterrupted) {
  OptimizeOptions how = options();
  how.own_cost = [] { return std::make_unique<Counting>([] { base::request_stop(SIGINT); }); };
  const auto result = optimize(twice(), how);
  base::request_stop(0);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(operators(result), 2u);
  EXPECT_EQ(result->report.status, "unchanged");
}

}  // namespace
}  // namespace egret::driver
