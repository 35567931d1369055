// SPDX-License-Identifier: Apache-2.0
// Plans that keep optimizer state or weights on the host or its disks.
#include <gtest/gtest.h>

#include "parallel/cluster_plan/cluster_planner.h"
#include "parallel/cluster_plan/plan_trials.h"
#include "tests/parallel/cluster_plans.h"

namespace egret::parallel {
namespace {

// The host has room, or it has none and the state goes to disks.
TEST(HostOffload, KeepsOptimizerStateWhereThereIsRoom) {
  TrainingSetup setup = model(24, 1024, 64);
  setup.heads = 16;
  setup.vocabulary = 51200;
  const System system = machine("p3-16xlarge-8", 8e9);
  const auto best = [&](const StepOptions& step) {
    const auto plan = plan_cluster({system, setup, step, {}}, {.devices = 1});
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return plan.ok() ? plan->best : PlannedStep{};
  };
  const PlannedStep free = best({});
  EXPECT_EQ(free.frame.offload, Offload::kOptimizer);
  EXPECT_GT(free.host_bytes, 12 * 3.5e8);
  const PlannedStep roomy = best({.host_memory = 1.01 * free.host_bytes});
  EXPECT_EQ(roomy.frame, free.frame);
  const PlannedStep narrow = best({.host_memory = 0.99 * free.host_bytes, .disk_bandwidth = 1e13});
  EXPECT_EQ(narrow.frame.offload, Offload::kDisk);
  EXPECT_NEAR(narrow.seconds, free.seconds, 1e-9 * free.seconds);
  EXPECT_EQ(narrow.host_bytes, 0);
  const PlannedStep slow = best({.host_memory = 0.99 * free.host_bytes, .disk_bandwidth = 1e9});
  EXPECT_TRUE(slow.fits());
  EXPECT_GT(slow.seconds, free.seconds);
}

// A model whose weights alone are more than the device has. The price of its memory is the
// simulated one, or a little more.
TEST(HostOffload, KeepsWeightsOnTheHostWhereNothingElseFits) {
  TrainingSetup setup = model(48, 2048, 16);
  setup.heads = 16;
  setup.vocabulary = 32000;
  const System system = machine("p3-16xlarge-8", 3e9);
  const StepOptions step;
  const FixedChoices fixed;
  for (const std::int64_t devices : {1, 2}) {
    const ClusterPlan plan = planned(system, setup, devices);
    EXPECT_TRUE(plan.best.fits());
    EXPECT_EQ(plan.best.frame.offload, Offload::kWeights);
    EXPECT_GT(plan.best.host_bytes * static_cast<double>(devices), 16 * 2.4e9);
    EXPECT_GE(plan.best.seconds, plan.bound_s * (1 - 1e-9));
    EXPECT_LT(plan.best.seconds, 1.2 * plan.bound_s);
    for (const PlannedBaseline& baseline : plan.baselines) EXPECT_FALSE(baseline.step.fits());
  }
  const StagePrices prices(system, setup, step, fixed);
  const PlanTrials trials(prices, 4);
  std::size_t compared = 0;
  for (const PlanFrame& frame : all_frames(setup, 4)) {
    if (!offloads_weights(frame.offload) || frame.virtual_stages > 1 || compared++ % 5 != 0)
      continue;
    const auto found = partition_stages(prices, frame);
    if (!found) continue;
    const auto own = trials.simulate(frame, found->chunks);
    ASSERT_TRUE(own);
    EXPECT_LE(found->bound_s, own->seconds * (1 + 1e-9)) << to_string(frame);
    std::int64_t before = 0;
    for (std::int64_t rank = 0; rank < frame.pipeline; ++rank) {
      const ChunkLayers layers = found->chunks[static_cast<std::size_t>(rank)];
      const RankPrice price = prices.rank_with(frame, rank, layers, before);
      before += layers.all();
      EXPECT_GE(price.memory_bytes, own->peak_bytes[static_cast<std::size_t>(rank)] * (1 - 1e-9))
          << to_string(frame) << " rank " << rank;
      EXPECT_LE(price.memory_bytes, 1.3 * own->peak_bytes[static_cast<std::size_t>(rank)])
          << to_string(frame) << " rank " << rank;
    }
  }
  EXPECT_GT(compared, 50U);
}

}  // namespace
}  // namespace egret::parallel
