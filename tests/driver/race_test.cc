// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "ir/graph/builder.h"
#include "zoo/zoo.h"

namespace egret::driver {
namespace {

// Of these times relative to the original's, each uncertain by `width`.
std::size_t winner(const std::vector<double>& times, const std::vector<int>& operators,
                   double width = 0.03) {
  std::vector<backends::Gain> gains;
  for (const double time : times)
    gains.push_back({.ratio = 1 / time, .low = 1 / time - width, .high = 1 / time + width});
  return winner_of(gains, operators);
}

TEST(Race, TheFastestWins) { EXPECT_EQ(winner({1.0, 0.8, 0.7}, {10, 9, 9}), 2U); }

TEST(Race, AmongEqualsTheFewestOperatorsWin) {
  EXPECT_EQ(winner({1.0, 0.99, 1.0}, {10, 9, 8}), 2U);
  EXPECT_EQ(winner({1.0, 1.01, 1.01}, {10, 9, 9}), 1U);
}

TEST(Race, TheOriginalWinsAgainstSlowerOnes) {
  EXPECT_EQ(winner({1.0, 1.1, 1.05}, {10, 5, 5}), 0U);
}

TEST(Race, NoGraphGrowsWithoutAGain) {
  EXPECT_EQ(winner({1.0, 0.99}, {10, 11}), 0U);
  EXPECT_EQ(winner({1.0, 0.97}, {10, 11}), 1U);
  EXPECT_EQ(winner({1.0, 0.99, 0.99}, {10, 11, 9}), 2U);
}

TEST(Race, ACandidateOfTheSameSizeWinsAgainstAnEqualOriginal) {
  EXPECT_EQ(winner({1.0, 1.01, 1.0}, {10, 10, 10}), 1U);
  EXPECT_EQ(winner({1.0, 1.01, 1.0}, {10, 11, 10}), 2U);
}

TEST(Race, NoCandidateWinsThatIsSlowerBeyondChance) {
  EXPECT_EQ(winner({1.0, 1.015}, {10, 9}), 1U);
  EXPECT_EQ(winner({1.0, 1.015}, {10, 9}, 0.005), 0U);
  EXPECT_EQ(winner({1.0, 1.015, 1.001}, {10, 8, 9}, 0.005), 2U);
}

// Says that its runs took these times, and then the last of them.
class TimedPlan final : public backends::ExecutablePlan {
 public:
  TimedPlan(const ir::Graph& graph, std::vector<double> times)
      : ExecutablePlan(graph), times_(std::move(times)) {}
  backends::PlanReport report() const override { return {}; }
  double last_device_s() const override { return last_s_; }
  std::size_t runs = 0;

 protected:
  base::Status execute(std::span<const ir::Tensor> /*inputs*/,
                       std::span<ir::Tensor> /*outputs*/) override {
    last_s_ = times_[std::min(runs++, times_.size() - 1)];
    return base::ok();
  }

 private:
  std::vector<double> times_;
  double last_s_ = 0;
};

constexpr std::size_t kRunsOfARace = 12;  // two of them to warm up

RaceOptions options_of_timed() {
  RaceOptions options;
  options.measure = {.warm_up_runs = 2, .min_runs = 10, .min_seconds = 0, .on_device = true};
  return options;
}

ir::Graph graph_of_timed() {
  ir::GraphBuilder b;
  b.output("y", b.add("relu", {b.input("x", {ir::DType::kF32, {4}})}));
  return *b.finish();
}

// Twelve runs of which most, but not all, are fast.
std::vector<double> lucky_at_first(double later) {
  std::vector<double> times(kRunsOfARace, 0.5);
  for (const std::size_t slow : {3U, 5U, 8U, 10U}) times[slow] = 2;
  times.push_back(later);
  return times;
}

TEST(Race, AWinnerByChanceRunsAgainAgainstTheOriginalAlone) {
  const ir::Graph graph = graph_of_timed();
  TimedPlan original(graph, {1}), slower(graph, lucky_at_first(1.3)), other(graph, {1.2});
  const auto database = cost::Database::open(":memory:");
  RaceOptions options = options_of_timed();
  options.database = database->get();
  options.machine = "here";
  const Racer racers[] = {{&original, "a", 10}, {&slower, "b", 9}, {&other, "c", 9}};
  const auto raced = race(racers, options);
  ASSERT_TRUE(raced.ok()) << raced.status().message();
  EXPECT_EQ(raced->winner, 0U);
  EXPECT_NEAR(raced->timings[1].gain.ratio, 1 / 1.3, 1e-9);
  EXPECT_EQ(original.runs, 2 * kRunsOfARace);
  EXPECT_EQ(slower.runs, 2 * kRunsOfARace);
  EXPECT_EQ(other.runs, kRunsOfARace);
  const auto remembered = remembered_race(racers, options);
  ASSERT_TRUE(remembered.ok() && remembered->has_value());
  EXPECT_EQ((*remembered)->winner, 0U);
  // One that is as fast as it seemed wins.
  TimedPlan faster(graph, lucky_at_first(0.7));
  options.database = nullptr;
  const Racer with_faster[] = {{&original, "a", 10}, {&slower, "b", 9}, {&faster, "d", 9}};
  const auto won = race(with_faster, options);
  EXPECT_EQ(won->winner, 2U);
  EXPECT_NEAR(won->timings[2].gain.ratio, 1 / 0.7, 1e-9);
}

TEST(Race, AWinnerBeyondChanceRunsOnce) {
  const ir::Graph graph = graph_of_timed();
  TimedPlan original(graph, {1}), faster(graph, {0.8}), equal(graph, {1.01});
  const Racer racers[] = {{&original, "a", 10}, {&faster, "b", 9}};
  EXPECT_EQ(race(racers, options_of_timed())->winner, 1U);
  EXPECT_EQ(faster.runs, kRunsOfARace);
  const Racer with_equal[] = {{&original, "a", 10}, {&equal, "b", 10}};
  EXPECT_EQ(race(with_equal, options_of_timed())->winner, 0U);  // slower beyond chance
  EXPECT_EQ(equal.runs, kRunsOfARace);
}

TEST(Race, ARaceThatWasRunIsRemembered) {
  const auto graph = zoo::find_model("squeezenet1.1")->build({});
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const backends::Backend* backend = backends::find_backend("cpu");
  auto a = backend->compile(*graph, {});
  auto b = backend->compile(*graph, {});
  ASSERT_TRUE(a.ok() && b.ok());
  auto database = cost::Database::open(":memory:");
  ASSERT_TRUE(database.ok());
  RaceOptions options;
  options.measure.min_runs = 3;
  options.measure.min_seconds = 0;
  options.database = database->get();
  options.machine = "this one";
  const Racer racers[] = {{a->get(), identity_of(*graph), 3}, {b->get(), identity_of(*graph), 3}};
  const auto first = race(racers, options);
  const auto again = race(racers, options);
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(first->timings[1].median_s, again->timings[1].median_s);
  const backends::Gain& gain = first->timings[1].gain;
  EXPECT_GT(gain.low, 0);
  EXPECT_LE(gain.low, gain.ratio);
  EXPECT_LE(gain.ratio, gain.high);
  EXPECT_NEAR(again->timings[1].gain.low, gain.low, 1e-9 * gain.low);
  EXPECT_EQ(first->winner, again->winner);
  const Racer unplanned[] = {{nullptr, racers[0].identity, 3}, {nullptr, racers[1].identity, 3}};
  const auto remembered = remembered_race(unplanned, options);
  ASSERT_TRUE(remembered.ok() && remembered->has_value());
  EXPECT_EQ((*remembered)->timings[0].median_s, first->timings[0].median_s);
  EXPECT_EQ((*remembered)->winner, first->winner);
  options.machine = "another";
  const auto unknown = remembered_race(racers, options);
  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(unknown->has_value());
  ASSERT_TRUE(race(racers, options).ok());
  EXPECT_EQ((*database)->rows("another")->size(), (*database)->rows("this one")->size());

  options.machine = "interrupted";
  options.measure.min_runs = 50;
  options.measure.should_stop = [polls = 0]() mutable {
    if (++polls > 10) base::request_stop(SIGINT);
    return base::stop_requested();
  };
  const auto cut_short = race(racers, options);
  base::request_stop(0);
  ASSERT_TRUE(cut_short.ok()) << cut_short.status().message();
  EXPECT_FALSE(remembered_race(racers, options)->has_value());
}

}  // namespace
}  // namespace egret::driver
