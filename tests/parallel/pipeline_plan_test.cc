// SPDX-License-Identifier: Apache-2.0
// Divisions into stages against all divisions, and plans of pipelines against closed forms.
#include "parallel/pipeline_plan/pipeline_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "parallel/pipeline_plan/piece_division.h"
#include "parallel/pipeline_plan/piece_prices.h"
#include "tests/parallel/pipeline_models.h"

namespace egret::parallel {
namespace {

// The least seconds of all divisions that fit, by enumeration.
double least_of_all(const DivisionTask& task, std::vector<std::size_t> ends = {}) {
  const std::size_t begin = ends.empty() ? 0 : ends.back();
  const std::size_t count = task.pieces.size();
  const std::size_t stages = task.in_flight.size();
  if (ends.size() == stages) {
    if (begin != count) return std::numeric_limits<double>::infinity();
    double sum = 0, most = 0;
    for (std::size_t s = 0, first = 0; s < stages; first = ends[s++]) {
      double work = 0, fixed = 0, kept = 0, live = 0;
      for (std::size_t i = first; i < ends[s]; ++i) {
        work += task.pieces[i].work_s;
        fixed += task.pieces[i].fixed_bytes;
        kept += task.pieces[i].kept_bytes;
        live = std::max(live, task.pieces[i].live_bytes);
      }
      if (task.memory > 0 && fixed + kept * task.in_flight[s] + live > task.memory)
        return std::numeric_limits<double>::infinity();
      sum += work + (first > 0 ? task.pieces[first].received_s : 0);
      most = std::max(most, work);
    }
    return sum + static_cast<double>(task.micro_batches - 1) * most;
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t end = begin + 1; end <= count; ++end) {
    ends.push_back(end);
    least = std::min(least, least_of_all(task, ends));
    ends.pop_back();
  }
  return least;
}

TEST(PieceDivision, IsTheBestOfAll) {
  base::Random random(5);
  const auto draw = [&](double most) {
    return most * static_cast<double>(random.below(1000)) / 1000;
  };
  int limited = 0, impossible = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<PieceTerms> pieces(3 + random.below(7));
    for (PieceTerms& piece : pieces)
      piece = {0.01 + draw(1), draw(0.5), draw(4), draw(1), draw(1)};
    DivisionTask task{.pieces = pieces,
                      .micro_batches = static_cast<std::int64_t>(1 + random.below(8)),
                      .in_flight = {}};
    const std::size_t stages = 1 + random.below(std::min<std::size_t>(pieces.size(), 4));
    for (std::size_t s = 0; s < stages; ++s)
      task.in_flight.push_back(static_cast<double>(stages - s));
    const double free = least_of_all(task);
    task.memory = trial % 2 == 0 ? 0 : 4 + draw(12);
    const double least = least_of_all(task);
    const std::vector<PieceDivision> found = divisions(task, 3);
    if (found.empty()) {
      ++impossible;
      EXPECT_EQ(least, std::numeric_limits<double>::infinity()) << trial;
      continue;
    }
    limited += least > free;
    EXPECT_NEAR(found.front().seconds, least, 1e-9) << trial;
    for (const PieceDivision& one : found) {
      EXPECT_EQ(one.ends.size(), stages);
      EXPECT_GE(one.seconds, least - 1e-9);
    }
  }
  EXPECT_GT(limited, 10);
  EXPECT_GT(impossible, 10);
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
  options.stage_ranks = 1;
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
  const PipelinePlan plan =
      plan_of_pipeline(model, machine, PipelinePlanOptions{.pipeline = true});
  EXPECT_GT(plan.best.shape.stages, 1);
  EXPECT_LE(plan.best.stage_ranks, 2);
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
