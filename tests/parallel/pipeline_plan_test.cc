// SPDX-License-Identifier: Apache-2.0
// Divisions into stages against all divisions, and plans of pipelines against closed forms.
#include "parallel/pipeline_plan/pipeline_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "parallel/pipeline_plan/piece_division.h"
#include "parallel/pipeline_plan/piece_prices.h"
#include "tests/parallel/pipeline_models.h"

namespace egret::parallel {
namespace {

// Of stages that are already divided.
struct Some {
  std::vector<std::size_t> ends, choices;
  std::int64_t ranks = 0;
};

// The seconds of a division; infinite where it does not fit.
double seconds_of(const DivisionTask& task, const Some& some) {
  double sum = 0, most = 0;
  for (std::size_t s = 0, first = 0; s < some.ends.size(); first = some.ends[s++]) {
    const std::vector<PieceTerms>& pieces = task.choices[some.choices[s]].pieces;
    double work = 0, fixed = 0, kept = 0, live = 0;
    for (std::size_t i = first; i < some.ends[s]; ++i) {
      work += pieces[i].work_s;
      fixed += pieces[i].fixed_bytes;
      kept += pieces[i].kept_bytes;
      live = std::max(live, pieces[i].live_bytes);
    }
    if (task.memory > 0 && fixed + kept * task.in_flight[s] + live > task.memory) return HUGE_VAL;
    sum += work + (first > 0 ? pieces[first].received_s : 0);
    most = std::max(most, work);
  }
  return sum + static_cast<double>(task.micro_batches - 1) * most;
}

// The least seconds of all divisions, by enumeration.
double least_of_all(const DivisionTask& task, const Some& some = {}) {
  const std::size_t begin = some.ends.empty() ? 0 : some.ends.back();
  const std::size_t count = task.choices.front().pieces.size();
  if (some.ends.size() == task.in_flight.size())
    return begin == count && some.ranks == task.ranks ? seconds_of(task, some) : HUGE_VAL;
  double least = HUGE_VAL;
  for (std::size_t choice = 0; choice < task.choices.size(); ++choice) {
    const std::int64_t own = task.choices[choice].ranks;
    const std::int64_t node = task.ranks_of_node > 0 ? task.ranks_of_node : task.ranks;
    if (some.ranks + own > task.ranks || some.ranks / node != (some.ranks + own - 1) / node)
      continue;
    for (std::size_t end = begin + 1; end <= count; ++end) {
      Some more = some;
      more.ends.push_back(end);
      more.choices.push_back(choice);
      more.ranks += own;
      least = std::min(least, least_of_all(task, more));
    }
  }
  return least;
}

TEST(PieceDivision, IsTheBestOfAll) {
  base::Random random(5);
  const auto draw = [&](double most) {
    return most * static_cast<double>(random.below(1000)) / 1000;
  };
  int limited = 0, impossible = 0, unlike = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t count = 3 + random.below(5);
    const std::size_t stages = 1 + random.below(std::min<std::size_t>(count, 4));
    std::vector<StageRanks> choices;
    const bool own = trial % 3 != 0;
    for (const std::int64_t ranks : {1, 2, 4}) {
      if (!own && ranks > 1) break;
      StageRanks& choice = choices.emplace_back(ranks);
      for (std::size_t i = 0; i < count; ++i) {
        const double share = 1 / static_cast<double>(ranks);
        choice.pieces.push_back({0.01 + draw(share), draw(0.5), draw(4 * share), draw(1), draw(1)});
      }
    }
    DivisionTask task{.choices = choices,
                      .ranks = static_cast<std::int64_t>(own ? 4 : stages),
                      .ranks_of_node = static_cast<std::int64_t>(2 * random.below(3)),
                      .micro_batches = static_cast<std::int64_t>(1 + random.below(8)),
                      .in_flight = {}};
    for (std::size_t s = 0; s < stages; ++s)
      task.in_flight.push_back(static_cast<double>(stages - s));
    const double free = least_of_all(task);
    task.memory = trial % 2 == 0 ? 0 : 4 + draw(12);
    const double least = least_of_all(task);
    const std::vector<PieceDivision> found = divisions(task, 3);
    if (found.empty()) {
      ++impossible;
      EXPECT_EQ(least, HUGE_VAL) << trial;
      continue;
    }
    limited += least > free;
    const PieceDivision& best = found.front();
    unlike += std::ranges::any_of(best.choices, [&](auto c) { return c != best.choices.front(); });
    EXPECT_NEAR(best.seconds, least, 1e-9) << trial;
    for (const PieceDivision& one : found) {
      EXPECT_NEAR(one.seconds, seconds_of(task, {one.ends, one.choices}), 1e-9) << trial;
      EXPECT_GE(one.seconds, least - 1e-9);
    }
  }
  EXPECT_GT(limited, 10);
  EXPECT_GT(impossible, 10);
  EXPECT_GT(unlike, 10);
}

PipelinePlan plan_of_pipeline(const ir::Graph& model, const Cluster& machine,
                              const PipelinePlanOptions& options, double memory = 0) {
  const ir::TrainingOptions training{.loss = "mse"};
  auto plan = plan_pipeline({model, training, memory}, machine, options);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? *std::move(plan) : PipelinePlan{};
}

// Messages of no time: only the work counts.
Cluster free_links(std::string_view mesh) {
  Cluster machine = machine_of(mesh);
  for (Link& link : machine.links) link = {0, 1e18, false};
  return machine;
}

// Eight equal layers on four ranks, each a stage of two: the closed form of 1F1B.
TEST(PipelinePlan, HasTheClosedFormOfEqualStages) {
  const ir::Graph model = layers(64, 256, 8);
  PipelinePlanOptions options{.pipeline = true, .replicas = 1, .micro_batches = 8};
  options.stage_ranks = "1";
  options.pipeline_stages = 4;
  const PipelinePlan plan = plan_of_pipeline(model, free_links("x=4"), options);
  ASSERT_EQ(plan.best.stages.size(), 4U);
  double forward = 0, backward = 0, update = 0;
  for (const PlannedStage& stage : plan.best.stages) {
    forward = std::max(forward, stage.forward_s);
    backward = std::max(backward, stage.backward_s);
  }
  // 1F1B has (m + p - 1) passes of each kind one after the other; ZB-H1 saves (p - 1) W of it.
  const double longest = (8 + 4 - 1) * (forward + backward);
  EXPECT_LE(plan.best.seconds, longest * 1.05 + update);
  EXPECT_GE(plan.best.seconds, 8 * (forward + backward) * (1 - 1e-9));
  EXPECT_LE(plan.bound_s, plan.best.seconds);
}

TEST(PipelinePlan, IsTheBestOfItsRankingAndNotBelowItsBound) {
  const ir::Graph model = layers(32, 128, 6);
  const PipelinePlan plan =
      plan_of_pipeline(model, machine_of("x=4"), PipelinePlanOptions{.pipeline = true});
  EXPECT_GT(plan.ranking.size(), 3U);
  EXPECT_GT(plan.bound_s, 0);
  for (const PlannedPipeline& one : plan.ranking) {
    EXPECT_GE(one.seconds, plan.best.seconds);
    EXPECT_GE(one.seconds, plan.bound_s * (1 - 1e-9));
    EXPECT_EQ(one.ranks(), 4);
    EXPECT_EQ(std::accumulate(one.shape.stage_operators.begin(), one.shape.stage_operators.end(),
                              std::int64_t{0}),
              std::accumulate(plan.best.shape.stage_operators.begin(),
                              plan.best.shape.stage_operators.end(), std::int64_t{0}));
  }
}

// Slow links between nodes and fast ones within: stages are cut along nodes, and the ranks of a
// node share a stage or its samples.
TEST(PipelinePlan, SendsLessOverSlowLinks) {
  const ir::Graph model = layers(64, 512, 8);
  Cluster machine = machine_of("nodes=2,gpus=2");
  machine.links.front().bytes_per_second = 1e8;
  const PipelinePlan plan = plan_of_pipeline(model, machine, PipelinePlanOptions{.pipeline = true});
  EXPECT_GT(plan.best.shape.stages, 1);
  for (const std::int64_t own : plan.best.stage_ranks) EXPECT_LE(own, 2);
}

// Weights that do not fit on one device are divided among stages or their ranks.
TEST(PipelinePlan, KeepsToTheMemory) {
  const ir::Graph model = layers(16, 512, 8);  // eight weights of 1 MiB
  const PipelinePlanOptions options{.pipeline = true};
  const PipelinePlan free = plan_of_pipeline(model, machine_of("x=4"), options);
  const double memory = 6.5 * 1024 * 1024;  // two weights and gradients, and their activations
  const PipelinePlan limited = plan_of_pipeline(model, machine_of("x=4"), options, memory);
  EXPECT_TRUE(limited.best.fits(memory));
  EXPECT_LE(limited.best.memory_bytes, memory);
  EXPECT_GE(limited.best.seconds, free.best.seconds);
  EXPECT_FALSE(plan_of_pipeline(model, machine_of("x=4"), options, 1024).best.fits(1024));
}

TEST(PipelinePlan, RefusesChoicesThatTheRanksDoNotHave) {
  const ir::Graph model = layers(16, 64, 4);
  const ir::TrainingOptions training{.loss = "mse"};
  PipelinePlanOptions options{.pipeline = true, .replicas = 3};
  EXPECT_EQ(plan_pipeline({model, training}, machine_of("x=4"), options).status().code(),
            base::StatusCode::kUsage);
  options = {.pipeline = true, .micro_batches = 7};
  EXPECT_EQ(plan_pipeline({model, training}, machine_of("x=4"), options).status().code(),
            base::StatusCode::kUnsupported);
}

// Equal layers are placed once for each number of ranks and samples.
TEST(PiecePrices, PlaceEqualPiecesOnce) {
  const ir::Graph model = layers(16, 64, 8);
  const ir::TrainingOptions training{.loss = "mse"};
  const Cluster machine = machine_of("x=2");
  PiecePrices prices(model, training, machine, 2);
  const SlicedLoss* sliced = prices.sliced(2).value();
  ASSERT_NE(sliced, nullptr);
  // A layer is matmul, tanh, add; the last ones are the loss.
  const PiecePrice second = prices.price(*sliced, 3, 6, 2).value();
  const PiecePrice third = prices.price(*sliced, 6, 9, 2).value();
  EXPECT_EQ(prices.placements(), 1U);
  EXPECT_EQ(second.pass_s, third.pass_s);
  EXPECT_GT(second.pass_s[0], 0);
  EXPECT_NEAR(second.pass_s[1], second.pass_s[2] + second.pass_s[3], 1e-15);
  // Two ranks hold half of the weight each, or all of it.
  EXPECT_GE(second.parameter_bytes, 64 * 64 * 4 / 2);
  EXPECT_LE(second.parameter_bytes, 64 * 64 * 4);
  EXPECT_GT(second.kept_bytes, 0);
  EXPECT_EQ(prices.sliced(5).value(), nullptr);
}

}  // namespace
}  // namespace egret::parallel
