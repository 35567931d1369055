// SPDX-License-Identifier: Apache-2.0
#include "backends/timing/measure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "backends/timing/node_timer.h"
#include "ir/graph/builder.h"

namespace egret::backends {
namespace {

std::unique_ptr<ExecutablePlan> relu_plan(std::int64_t elements) {
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {elements}})}));
  auto plan = find_backend("cpu")->compile(*b.finish(), {.threads = 1});
  return *std::move(plan);
}

TEST(Gain, IsTheMedianRatioOfPairs) {
  // The machine is slow in every second round; the pairs do not see it.
  std::vector<double> before;
  std::vector<double> after;
  for (int i = 0; i < 100; ++i) {
    const double machine = i % 2 == 0 ? 1 : 3;
    before.push_back(2 * machine * (1 + 1e-3 * i));
    after.push_back(machine);
  }
  const Gain gain = gain_of(before, after);
  EXPECT_NEAR(gain.ratio, 2.1, 1e-3);
  // Ranks 40 and 59 of 100: what a binomial of 95 % leaves.
  EXPECT_NEAR(gain.low, 2.08, 1e-9);
  EXPECT_NEAR(gain.high, 2.118, 1e-9);
}

TEST(Gain, OfFewPairsIsTheirWholeRange) {
  const Gain gain = gain_of(std::array{1.0, 2.0, 3.0}, std::array{1.0, 1.0, 1.0});
  EXPECT_DOUBLE_EQ(gain.ratio, 2);
  EXPECT_DOUBLE_EQ(gain.low, 1);
  EXPECT_DOUBLE_EQ(gain.high, 3);
  EXPECT_DOUBLE_EQ(gain_of({}, {}).low, 1);
}

TEST(Summarize, GivesQuantiles) {
  const Timing t = summarize({5, 1, 3, 2, 4});
  EXPECT_DOUBLE_EQ(t.median_s, 3);
  EXPECT_DOUBLE_EQ(t.p10_s, 1.4);
  EXPECT_DOUBLE_EQ(t.p90_s, 4.6);
  EXPECT_DOUBLE_EQ(t.mad_s, 1);
  EXPECT_EQ(t.runs, 5);
  EXPECT_EQ(summarize({}).runs, 0);
}

TEST(Measure, RunsAtLeastAsOftenAsAsked) {
  const auto plan = relu_plan(100);
  const auto t = measure(*plan, {.min_runs = 7, .min_seconds = 0});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->runs, 7);
  EXPECT_GT(t->median_s, 0);
  EXPECT_LE(t->p10_s, t->median_s);
  EXPECT_LE(t->median_s, t->p90_s);
}

TEST(Measure, EndsAtItsDeadlineWithAtLeastOneRun) {
  const auto plan = relu_plan(100);
  const auto t = measure(*plan, {.min_runs = 1 << 30, .min_seconds = 1e9, .max_seconds = 0});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->runs, 1);
}

TEST(Measure, EndsWhenAskedTo) {
  const auto plan = relu_plan(100);
  int polls = 0;
  const auto some = measure(
      *plan, {.warm_up_runs = 0, .min_runs = 1 << 30, .should_stop = [&] { return ++polls > 4; }});
  ASSERT_TRUE(some.ok());
  EXPECT_LE(some->runs, 5);
  const auto none = measure(*plan, {.should_stop = [] { return true; }});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), base::StatusCode::kLimit);
}

// Remembers where its input lay, and how often it ran.
class Witness : public ExecutablePlan {
 public:
  explicit Witness(const ir::Graph& graph) : ExecutablePlan(graph) {}
  PlanReport report() const override { return {}; }
  std::set<const std::byte*> seen;
  std::set<double> first_elements;
  int runs = 0;

 protected:
  base::Status execute(std::span<const ir::Tensor> inputs, std::span<ir::Tensor>) override {
    seen.insert(inputs[0].data().data());
    first_elements.insert(inputs[0].f64_at(0));
    ++runs;
    return base::ok();
  }
};

TEST(Measure, WarmsUpOnceWhereThatTakesLong) {
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {10}})}));
  const auto graph = b.finish();
  const auto runs = [&](double enough) {
    Witness plan(*graph);
    const MeasureOptions options{
        .warm_up_runs = 3, .warm_up_seconds = enough, .min_runs = 2, .min_seconds = 0};
    EXPECT_EQ(measure(plan, options)->runs, 2);
    return plan.runs;
  };
  EXPECT_EQ(runs(1e9), 3 + 2);
  EXPECT_EQ(runs(0), 1 + 2);
}

TEST(Measure, RunsOnGivenInputs) {
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {10}})}));
  Witness plan(*b.finish());
  MeasureOptions options{.min_runs = 3, .min_seconds = 0};
  options.given.emplace(0, ir::Tensor::filled(ir::TensorType(ir::DType::kF32, {10}), 7));
  ASSERT_TRUE(measure(plan, options).ok());
  EXPECT_EQ(plan.first_elements, std::set<double>{7});
  EXPECT_GT(plan.seen.size(), 1U);  // each set lies in memory of its own
}

TEST(Measure, TakesADevicesSecondsWhereItIsAsked) {
  class OnDevice : public Witness {
   public:
    using Witness::Witness;
    double last_device_s() const override { return runs == 1 ? 0 : 1000; }
  };
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {10}})}));
  OnDevice plan(*b.finish());
  const MeasureOptions options{.min_runs = 3, .min_seconds = 0, .on_device = true};
  EXPECT_EQ(measure(plan, options)->median_s, 1000);
  EXPECT_LT(measure(plan, {.min_runs = 3, .min_seconds = 0})->median_s, 1000);
}

TEST(Measure, MakesNoMoreInputsThanRunsWhereTheseAreCounted) {
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {10}})}));
  const auto graph = b.finish();
  for (const int runs : {1, 3, 100}) {
    Witness plan(*graph);
    ASSERT_TRUE(measure(plan, {.warm_up_runs = 1, .min_runs = runs, .min_seconds = 0}).ok());
    EXPECT_EQ(plan.seen.size(), static_cast<std::size_t>(std::min(runs + 1, 8)));
  }
}

TEST(MeasureInterleaved, TakesTurnsOverTheSameInputs) {
  const auto small = relu_plan(1 << 12);
  const auto again = relu_plan(1 << 12);
  ExecutablePlan* const plans[] = {small.get(), again.get()};
  const auto t = measure_interleaved(plans, {.min_runs = 20, .min_seconds = 0});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ((*t)[0].runs, (*t)[1].runs);
  const auto other = relu_plan(1 << 10);
  ExecutablePlan* const different[] = {small.get(), other.get()};
  EXPECT_FALSE(measure_interleaved(different, {}).ok());
}

TEST(Measure, SweepsCachesBeforeEachRun) {
  const auto plan = relu_plan(0);  // nothing to touch
  const auto t = measure(*plan, {.min_runs = 3, .min_seconds = 0, .sweep = true});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->runs, 3);
}

TEST(TimeOperator, TimesKernelsAndKnowsViews) {
  const Backend& cpu = *find_backend("cpu");
  const ir::TensorType type(ir::DType::kF32, {64, 1024});
  const TimerOptions quick{.measure = {.min_runs = 3, .min_seconds = 0}, .threads = 1};
  const auto tanh = time_operator(cpu, ir::get_operator("tanh"), {}, {&type, 1}, {}, quick);
  ASSERT_TRUE(tanh.ok()) << tanh.status().message();
  EXPECT_FALSE(tanh->view);
  EXPECT_FALSE(tanh->fallback);
  EXPECT_GT(tanh->alone.median_s, 0);
  EXPECT_LE(tanh->fused_s, tanh->alone.median_s);
  const auto view = time_operator(cpu, ir::get_operator("reshape"),
                                  {{"shape", ir::Integers{1024, 64}}}, {&type, 1}, {}, quick);
  ASSERT_TRUE(view.ok()) << view.status().message();
  EXPECT_TRUE(view->view);
  EXPECT_EQ(view->alone.median_s, 0);
}

TEST(TimeOperator, RefusesWhatDoesNotFit) {
  const ir::TensorType type(ir::DType::kF32, {1 << 20, 1 << 20});
  const auto t =
      time_operator(*find_backend("cpu"), ir::get_operator("relu"), {}, {&type, 1}, {}, {});
  ASSERT_FALSE(t.ok());
  EXPECT_EQ(t.status().code(), base::StatusCode::kLimit);
}

}  // namespace
}  // namespace egret::backends
