// SPDX-License-Identifier: Apache-2.0
// Wide-ResNets as kernels and bytes, and plans of their training.
#include "parallel/transformer/wide_resnet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/random.h"
#include "parallel/cluster_plan/cluster_planner.h"
#include "parallel/cluster_plan/plan_trials.h"
#include "parallel/cluster_plan/stage_mix.h"

namespace egret::parallel {
namespace {

using ::testing::HasSubstr;

TrainingSetup network(std::int64_t depth, std::int64_t channels, std::int64_t width,
                      std::int64_t images) {
  TrainingSetup setup;
  setup.wide_resnet = depth;
  setup.layers = residual_blocks(depth);
  setup.channels = channels;
  setup.width_factor = width;
  setup.precision = Precision::kF32;
  setup.gradient_bytes = setup.optimizer_bytes = 4;
  setup.global_batch = images;
  return setup;
}

TEST(WideResnet, HasTheSizesOfResnet50) {
  TrainingSetup setup = network(50, 64, 1, 1);
  setup.classes = 1000;
  // torchvision's resnet50 has 25,557,032 parameters, of which 1,000 are the last layer's bias, and
  // 4.089 billion products of a forward pass.
  EXPECT_EQ(setup.model_parameters(), 25'556'032);
  EXPECT_NEAR(setup.model_flops() / 6, 4.089e9, 0.005e9);
}

TEST(WideResnet, HasTheSizesOfAlpasModels) {
  for (const auto& [depth, channels, width, parameters] : {std::tuple(50, 160, 2, 0.25e9),
                                                           {50, 224, 2, 0.5e9},
                                                           {50, 320, 2, 1e9},
                                                           {50, 448, 2, 2e9},
                                                           {50, 640, 2, 4e9},
                                                           {50, 320, 16, 6.8e9},
                                                           {101, 320, 16, 13e9}}) {
    EXPECT_NEAR(network(depth, channels, width, 1).model_parameters(), parameters,
                0.06 * parameters);
  }
}

TEST(WideResnet, DividesBlocksAmongTensorRanks) {
  const System system = system_called("p3-16xlarge-8").value();
  TrainingSetup setup = network(50, 320, 2, 32);
  setup.micro_batch = 4;
  const ModelBlocks whole = wide_resnet_blocks(system, setup);
  setup.tensor = 4;
  const ModelBlocks part = wide_resnet_blocks(system, setup);
  ASSERT_EQ(whole.layers.size(), 16U);
  for (std::size_t i = 0; i < whole.layers.size(); ++i) {
    const ModelBlock &a = whole.layers[i][0], &b = part.layers[i][0];
    EXPECT_NEAR(b.parameters, a.parameters / 4, 0.02 * a.parameters) << i;
    EXPECT_LT(b.kept_bytes, a.kept_bytes);
    EXPECT_EQ(a.forward.by_kind_s[static_cast<std::size_t>(KernelKind::kCollective)], 0);
    EXPECT_GT(b.forward.by_kind_s[static_cast<std::size_t>(KernelKind::kCollective)], 0);
    // Recomputation keeps the block's input, and needs the rest for a while.
    EXPECT_EQ(whole.layers[i][2].kept_bytes + whole.layer_workspace_bytes[i][2], a.kept_bytes);
    EXPECT_GT(whole.layers[i][2].backward.device_s,
              a.backward.device_s + 0.99 * a.forward.device_s);
  }
  // 56, 28, 14 and 7 places a side; 4, 8, 16 and 32 times as many channels.
  for (const auto& [blocks, elements] : {std::pair(1, 56 * 56 * 4 * 320),
                                         {3, 56 * 56 * 4 * 320},
                                         {4, 28 * 28 * 8 * 320},
                                         {8, 14 * 14 * 16 * 320},
                                         {16, 7 * 7 * 32 * 320}})
    EXPECT_EQ(residual_bytes(setup, blocks), 4.0 * 4 * elements) << blocks;
}

TEST(WideResnet, ChecksItsOptions) {
  const auto message = [](const std::function<void(TrainingSetup&)>& change) {
    TrainingSetup setup = network(50, 160, 2, 64);
    change(setup);
    return std::string(setup.check().message());
  };
  EXPECT_EQ(message([](auto&) {}), "");
  EXPECT_THAT(message([](auto& s) { s.wide_resnet = 60; }), HasSubstr("50 or 101"));
  EXPECT_THAT(message([](auto& s) { s.layers = 24; }), HasSubstr("must be 16"));
  EXPECT_THAT(message([](auto& s) { s.tensor = 3; }), HasSubstr("--channels"));
  EXPECT_THAT(message([](auto& s) { s.image_size = 100; }), HasSubstr("multiple of 32"));
  EXPECT_THAT(message([](auto& s) { s.context = 2; }), HasSubstr("--cp"));
  TrainingSetup setup = network(50, 160, 2, 64);
  EXPECT_THAT(std::string(StepOptions{.zero = 3}.check(setup).message()), HasSubstr("--zero"));
}

TEST(WideResnet, SimulatesWhatItPrices) {
  const System system = system_called("p3-16xlarge-8").value();
  TrainingSetup setup = network(50, 160, 2, 64);
  setup.micro_batch = 16;
  setup.pipeline = 2;
  setup.stage_layers = "6,10";
  setup.stage_data = "4,2";
  setup.stage_tensor = "1,2";
  const auto report = simulate_step(system, setup);
  ASSERT_TRUE(report.ok()) << report.status().message();
  // Weights, gradients and momentum in 32 bits.
  double weights = 0;
  for (const DeviceReport& device : report->devices)
    weights += device.peak_bytes[static_cast<std::size_t>(MemoryKind::kWeights)];
  EXPECT_GT(weights, 4 * setup.model_parameters() * 0.5);
  EXPECT_LT(weights, 4 * setup.model_parameters());
  EXPECT_GT(report->mfu, 0.1);
  EXPECT_LT(report->mfu, 1);
}

TEST(WideResnet, HasBoundsBelowSimulations) {
  base::Random random(3);
  std::size_t compared = 0;
  for (const bool overlaps : {false, true}) {
    System system = system_called("p3-16xlarge-8").value();
    system.accelerator.memory_bytes = overlaps ? 1e13 : 1.2e10;
    TrainingSetup setup = network(50, 160, 2, 64);
    setup.overlap_gradients = setup.overlap_transfers = overlaps;
    const FixedChoices fixed;
    const StepOptions step;
    const StagePrices prices(system, setup, step, fixed);
    const PlanTrials trials(prices, 8);
    const StageMixes mixes(prices, 8, fixed, false);
    for (const MixedGroup& group : mixes.groups()) {
      if (!random.chance(0.3)) continue;
      const auto plans = mixes.solve(group.frame, 1e300);
      if (!plans) continue;
      EXPECT_LE(group.bound_s, plans->bound_s * (1 + 1e-9));
      for (const PlanFrame& frame : plans->frames) {
        if (compared % 4 != 0 && random.chance(0.5)) continue;
        const auto found = partition_stages(prices, frame);
        if (!found) continue;
        EXPECT_LE(plans->bound_s, found->bound_s * (1 + 1e-9)) << to_string(frame);
        const auto own = trials.simulate(frame, found->chunks);
        ASSERT_TRUE(own) << to_string(frame);
        EXPECT_LE(found->bound_s, own->seconds * (1 + 1e-9))
            << to_string(frame) << " overlaps " << overlaps;
        // The memory of a stage is that of the simulation.
        std::int64_t before = 0;
        for (std::int64_t rank = 0; rank < frame.pipeline; ++rank) {
          const ChunkLayers& layers = found->chunks[static_cast<std::size_t>(rank)];
          const RankPrice price = prices.rank_with(frame, rank, layers, before);
          before += layers.all();
          EXPECT_NEAR(price.memory_bytes, own->peak_bytes[static_cast<std::size_t>(rank)],
                      1e-9 * price.memory_bytes)
              << to_string(frame) << " rank " << rank;
        }
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 15U);
}

TEST(WideResnet, PlansUnlikeStagesAndIsNeverWorseThanDataParallelism) {
  const System system = system_called("p3-16xlarge-8").value();
  const TrainingSetup setup = network(50, 448, 2, 256);
  const auto plan = plan_cluster({system, setup, {}, {}}, {.devices = 8});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(plan->best.fits());
  EXPECT_LE(plan->bound_s, plan->best.seconds);
  for (const PlannedBaseline& baseline : plan->baselines) {
    if (!baseline.exists || !baseline.step.fits()) continue;
    EXPECT_LE(plan->best.seconds, baseline.step.seconds) << baseline.name;
  }
  const auto again = simulate_step(system, plan->setup, plan->options);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->seconds, plan->best.seconds);
}

}  // namespace
}  // namespace egret::parallel
