// SPDX-License-Identifier: Apache-2.0
#include "parallel/pipeline/schedule_time.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "parallel/simulator/step_simulation.h"
#include "parallel/transformer/step_estimate.h"

namespace egret::parallel {
namespace {

// Seconds of a pass of any stage.
struct PassTimes {
  double forward, inputs, weights;
  double of(const PipelinePass& pass) const {
    switch (pass.kind) {
      case PassKind::kForward: return forward;
      case PassKind::kInputs: return inputs;
      case PassKind::kWeights: return weights;
      case PassKind::kBackward: return inputs + weights;
    }
    return 0;
  }
};

double seconds(PipelineKind kind, std::int64_t ranks, std::int64_t chunks,
               std::int64_t micro_batches, const PassTimes& times) {
  const auto schedule = pipeline_schedule(kind, ranks, chunks, micro_batches).value();
  const auto ends = schedule_ends_s(schedule, [&](const PipelinePass& p) { return times.of(p); });
  return *std::ranges::max_element(ends);
}

TEST(ScheduleTime, IsTheClosedFormOfEachSchedule) {
  for (const PassTimes& t : {PassTimes{1, 1, 1}, {10, 12, 8}, {10, 9, 11}, {3, 5, 2}}) {
    for (const std::int64_t ranks : {1, 2, 4, 8}) {
      const auto p = static_cast<double>(ranks);
      const std::int64_t micro_batches = 4 * ranks;
      const double work = static_cast<double>(micro_batches) * (t.forward + t.inputs + t.weights);
      const double whole = (p - 1) * (t.forward + t.inputs + t.weights);
      EXPECT_DOUBLE_EQ(seconds(PipelineKind::k1F1B, ranks, 1, micro_batches, t), work + whole);
      EXPECT_DOUBLE_EQ(seconds(PipelineKind::kGpipe, ranks, 1, micro_batches, t), work + whole);
      EXPECT_DOUBLE_EQ(seconds(PipelineKind::k1F1B, ranks, 2, micro_batches, t), 2 * work + whole);
      EXPECT_DOUBLE_EQ(seconds(PipelineKind::kZbH1, ranks, 1, micro_batches, t),
                       work + (p - 1) * (t.forward + std::max(0.0, t.inputs - t.weights)));
      if (ranks == 1) continue;
      const double dual = seconds(PipelineKind::kDualPipe, ranks, 1, micro_batches, t);
      EXPECT_GE(dual, work);
      EXPECT_LE(dual, work + (p / 2 - 1) * (t.forward + 2 * t.inputs - t.weights) + 1e-9);
    }
  }
}

TEST(ScheduleTime, ZeroBubbleKeepsAsManyMicroBatchesAsRanks) {
  const auto schedule = pipeline_schedule(PipelineKind::kZbH1, 4, 1, 16).value();
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(schedule_kept_bytes(schedule, rank, {1, 1, 1, 1}, PassKind::kWeights), 4) << rank;
    EXPECT_EQ(schedule_kept_bytes(schedule, rank, {1, 1, 1, 1}, PassKind::kInputs), 4 - rank);
  }
  const auto plain = pipeline_schedule(PipelineKind::k1F1B, 4, 1, 16).value();
  for (std::int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(schedule_kept_bytes(plain, rank, {1, 2, 3, 4}, PassKind::kWeights),
              static_cast<double>((4 - rank) * (rank + 1)));
}

// Both price the same kernels, so they agree where messages and exchanges are short.
TEST(StepEstimate, IsNearTheSimulationUnderAllSchedules) {
  System system = system_called("dgx-a100").value();
  for (Tier& tier : system.fabric.tiers) {
    tier.bytes_per_second = 1e14;
    tier.start_s = tier.hop_s = tier.ramp = 0;
  }
  system.accelerator.host_seconds_per_kernel = 0;
  system.accelerator.host_seconds_per_collective = 0;
  TrainingSetup setup;
  setup.layers = 14;  // uneven stages
  setup.pipeline = 4;
  setup.data = 2;
  setup.global_batch = 32;
  double one_f_one_b = 0;
  for (const PipelineKind kind :
       {PipelineKind::k1F1B, PipelineKind::kGpipe, PipelineKind::kZbH1, PipelineKind::kDualPipe}) {
    setup.schedule = kind;
    const StepEstimate estimate = estimate_step(system, setup).value();
    const StepReport report = simulate_step(system, setup).value();
    const auto name = static_cast<int>(kind);
    // 1F1B's closed form is exact for equal stages only.
    const bool by_passes = kind == PipelineKind::kZbH1 || kind == PipelineKind::kDualPipe;
    EXPECT_NEAR(estimate.seconds / report.seconds, 1, by_passes ? 0.01 : 0.06) << name;
    if (kind == PipelineKind::k1F1B) one_f_one_b = estimate.seconds;
    if (by_passes) {
      EXPECT_LT(estimate.seconds, one_f_one_b) << name;
    }
    for (std::size_t rank = 0; rank < 4; ++rank) {
      const auto& peak = report.devices[rank].peak_bytes;
      EXPECT_NEAR(estimate.stages[rank].activations,
                  peak[static_cast<std::size_t>(MemoryKind::kActivations)], 1)
          << name << ", rank " << rank;
      EXPECT_NEAR(estimate.stages[rank].weights,
                  peak[static_cast<std::size_t>(MemoryKind::kWeights)], 1);
    }
  }
}

}  // namespace
}  // namespace egret::parallel
