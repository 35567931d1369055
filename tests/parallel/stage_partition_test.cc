// SPDX-License-Identifier: Apache-2.0
// Bounds of frames against the simulated steps of all divisions of their layers.
#include "parallel/cluster_plan/stage_partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "parallel/cluster_plan/plan_trials.h"

namespace egret::parallel {
namespace {

// Copies of activations outlast the passes beside which they travel. What slows passes down then
// ends with them, while the device waits for the rest.
TEST(StagePartition, HasBoundsBelowSimulationsWhoseCopiesOutlastPasses) {
  constexpr std::int64_t kLayers = 7, kStages = 4;
  TrainingSetup setup;
  setup.layers = kLayers;
  setup.hidden = setup.sequence = 1024;
  setup.heads = 4;
  setup.vocabulary = 16384;
  setup.global_batch = 16;
  setup.overlap_gradients = setup.overlap_transfers = true;
  const FixedChoices fixed;
  double closest = 0;
  std::size_t simulated = 0;
  for (const double slowdown : {0.0, 0.1, 1.0}) {
    System system = system_called("v100-quad").value();
    system.accelerator.memory_bytes = 1e12;
    system.accelerator.overlap_slowdown = slowdown;
    for (const double bytes_per_second : {2.5e10, 3e9}) {
      StepOptions step;
      step.host_bandwidth = bytes_per_second;
      step.recorded_launches = true;
      const StagePrices prices(system, setup, step, fixed);
      const PlanTrials trials(prices, 8);
      for (const std::int64_t zero : {0, 1}) {
        PlanFrame frame;
        frame.context = 2;
        frame.pipeline = kStages;
        frame.zero = zero;
        frame.offload = Offload::kActivations;
        const auto found = partition_stages(prices, frame);
        ASSERT_TRUE(found);
        for (std::int64_t a = 1; a <= kLayers; ++a) {
          for (std::int64_t b = 1; a + b <= kLayers; ++b) {
            for (std::int64_t c = 1; a + b + c < kLayers; ++c) {
              const auto one = trials.simulate(
                  frame, {{a, 0, 0}, {b, 0, 0}, {c, 0, 0}, {kLayers - a - b - c, 0, 0}});
              ASSERT_TRUE(one);
              ++simulated;
              EXPECT_LE(found->bound_s, one->seconds * (1 + 1e-9))
                  << to_string(frame) << " slowdown " << slowdown << " " << bytes_per_second;
              closest = std::max(closest, found->bound_s / one->seconds);
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(simulated, 240U);
  EXPECT_GT(closest, 0.95);
}

}  // namespace
}  // namespace egret::parallel
