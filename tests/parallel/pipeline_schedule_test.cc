// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "parallel/simulator/event_simulator.h"

namespace egret::parallel {
namespace {

using ::testing::HasSubstr;

struct PassSeconds {
  double forward, inputs, weights;

  double of(PassKind kind) const {
    switch (kind) {
      case PassKind::kForward: return forward;
      case PassKind::kBackward: return inputs + weights;
      case PassKind::kInputs: return inputs;
      case PassKind::kWeights: return weights;
    }
    return 0;
  }
  double sum() const { return forward + inputs + weights; }
};

PipelineSchedule schedule_of(PipelineKind kind, std::int64_t ranks, std::int64_t chunks,
                             std::int64_t micro_batches) {
  return pipeline_schedule(kind, ranks, chunks, micro_batches).value();
}

// The step of a pipeline whose messages take no time.
double simulated_seconds(const PipelineSchedule& schedule, const PassSeconds& seconds) {
  TaskGraph graph;
  std::map<std::tuple<int, std::int64_t, std::int64_t>, TaskId> tasks;  // gradients of inputs as 1
  const auto key = [](const PipelinePass& pass) {
    const int kind = pass.kind == PassKind::kForward ? 0 : pass.kind == PassKind::kWeights ? 2 : 1;
    return std::tuple(kind, pass.micro_batch, pass.stage);
  };
  for (std::size_t rank = 0; rank < schedule.passes.size(); ++rank) {
    for (const PipelinePass& pass : schedule.passes[rank]) {
      EXPECT_EQ(schedule.rank_of(pass.stage, pass.micro_batch), static_cast<std::int64_t>(rank));
      tasks[key(pass)] = graph.add({.device = static_cast<std::uint32_t>(rank),
                                    .effect = TaskEffect::kComputes,
                                    .work = {.seconds = seconds.of(pass.kind)}});
    }
  }
  for (const auto& [name, task] : tasks) {
    const auto [kind, micro, stage] = name;
    if (kind == 0 && stage > 0) graph.add_dependency(task, tasks.at({0, micro, stage - 1}));
    if (kind == 1) graph.add_dependency(task, tasks.at({0, micro, stage}));
    if (kind == 1 && stage + 1 < schedule.stages)
      graph.add_dependency(task, tasks.at({1, micro, stage + 1}));
    if (kind == 2) graph.add_dependency(task, tasks.at({1, micro, stage}));
  }
  auto simulator = EventSimulator::make(std::move(graph));
  EXPECT_TRUE(simulator.ok()) << simulator.status().message();
  EXPECT_TRUE(simulator->run().ok());
  return simulator->timeline().end_s;
}

const PassSeconds kCosts[] = {{1, 1, 1}, {10, 12, 8}, {10, 9, 11}, {3, 5, 2}};

TEST(PipelineSchedule, HoldsEachPassOnce) {
  using enum PipelineKind;
  for (const auto& [kind, ranks, chunks, micro] : {std::tuple{kGpipe, 4, 1, 6},
                                                   {k1F1B, 4, 1, 6},
                                                   {k1F1B, 4, 1, 2},
                                                   {k1F1B, 4, 3, 8},
                                                   {kZbH1, 4, 1, 8},
                                                   {kZbH1, 4, 1, 2},
                                                   {kDualPipe, 4, 1, 8},
                                                   {kDualPipe, 8, 1, 22}}) {
    std::map<std::tuple<std::int64_t, std::int64_t>, std::array<int, 4>> counts;
    for (const auto& passes : schedule_of(kind, ranks, chunks, micro).passes)
      for (const PipelinePass& pass : passes)
        ++counts[{pass.stage, pass.micro_batch}][static_cast<std::size_t>(pass.kind)];
    EXPECT_EQ(counts.size(), static_cast<std::size_t>(ranks * chunks * micro));
    for (const auto& [unused, count] : counts) {
      EXPECT_EQ(count[0], 1);
      EXPECT_EQ(count[1] + count[2], 1);
      EXPECT_EQ(count[2], count[3]);
    }
  }
}

TEST(PipelineSchedule, HasTheBubblesOfTheClosedForms) {
  for (const std::int64_t p : {1, 2, 4, 8}) {
    for (const std::int64_t m : {8, 16, 24}) {
      for (const PassSeconds& cost : kCosts) {
        const auto micro = static_cast<double>(m);
        const auto bubbles = static_cast<double>(p - 1);
        const auto idle = [&](PipelineKind kind, std::int64_t chunks) {
          // The same work whatever the number of chunks is.
          const auto part = static_cast<double>(chunks);
          const PassSeconds each{cost.forward / part, cost.inputs / part, cost.weights / part};
          return simulated_seconds(schedule_of(kind, p, chunks, m), each) - micro * cost.sum();
        };
        EXPECT_NEAR(idle(PipelineKind::kGpipe, 1), bubbles * cost.sum(), 1e-9);
        EXPECT_NEAR(idle(PipelineKind::k1F1B, 1), bubbles * cost.sum(), 1e-9);
        if (p > 1) {
          EXPECT_NEAR(idle(PipelineKind::k1F1B, 2), bubbles * cost.sum() / 2, 1e-9);
          EXPECT_NEAR(idle(PipelineKind::k1F1B, 4), bubbles * cost.sum() / 4, 1e-9);
        }
        const double rest = cost.forward + std::max(0.0, cost.inputs - cost.weights);
        EXPECT_NEAR(idle(PipelineKind::kZbH1, 1), bubbles * rest, 1e-9);
      }
    }
  }
}

// DeepSeek's figure counts an overlapped pair of passes as one unit, so it bounds ours from above.
TEST(PipelineSchedule, DualPipeIdlesNoMoreThanPublished) {
  for (const std::int64_t p : {2, 4, 8}) {
    for (const std::int64_t m : {2 * p, 2 * p + 2, 4 * p}) {
      for (const PassSeconds& cost : kCosts) {
        const double idle = simulated_seconds(schedule_of(PipelineKind::kDualPipe, p, 1, m), cost) -
                            static_cast<double>(m) * cost.sum();
        const double steps = static_cast<double>(p) / 2 - 1;
        const double backward = cost.inputs + cost.weights;
        EXPECT_LE(idle, steps * (cost.forward + 2 * backward - 3 * cost.weights) + 1e-9);
        const double rest = cost.forward + std::max(0.0, cost.inputs - cost.weights);
        EXPECT_GE(idle, steps * rest - 1e-9) << p << " " << m;
        if (cost.forward == cost.weights && cost.forward == cost.inputs) {
          EXPECT_NEAR(idle, steps * rest, 1e-9) << p << " " << m;
        }
      }
    }
  }
}

// Micro-batches that have begun and not ended, on the first rank.
std::int64_t most_in_flight(const PipelineSchedule& schedule) {
  std::int64_t now = 0, most = 0;
  for (const PipelinePass& pass : schedule.passes[0]) {
    if (pass.kind == PassKind::kForward) most = std::max(most, ++now);
    if (pass.kind == PassKind::kBackward || pass.kind == PassKind::kWeights) --now;
  }
  return most;
}

TEST(PipelineSchedule, KeepsActivationsAsPublished) {
  EXPECT_EQ(most_in_flight(schedule_of(PipelineKind::kGpipe, 4, 1, 12)), 12);
  EXPECT_EQ(most_in_flight(schedule_of(PipelineKind::k1F1B, 4, 1, 12)), 4);
  EXPECT_EQ(most_in_flight(schedule_of(PipelineKind::kZbH1, 4, 1, 12)), 4);
  // In chunks: p v (1 + (p-1)/(p v)).
  EXPECT_EQ(most_in_flight(schedule_of(PipelineKind::k1F1B, 4, 2, 12)), 11);
  EXPECT_EQ(most_in_flight(schedule_of(PipelineKind::kDualPipe, 4, 1, 12)), 5);
}

TEST(PipelineSchedule, RefusesUnsuitableNumbers) {
  const auto message = [](PipelineKind kind, std::int64_t p, std::int64_t v, std::int64_t m) {
    return pipeline_schedule(kind, p, v, m).status().message();
  };
  EXPECT_THAT(message(PipelineKind::k1F1B, 4, 2, 6), HasSubstr("multiple of the ranks"));
  EXPECT_THAT(message(PipelineKind::kDualPipe, 3, 1, 8), HasSubstr("even"));
  EXPECT_THAT(message(PipelineKind::kDualPipe, 4, 1, 6), HasSubstr("twice as many"));
  EXPECT_THAT(message(PipelineKind::kZbH1, 4, 1, 1'000'000'000), HasSubstr("passes"));
}

}  // namespace
}  // namespace egret::parallel
