// SPDX-License-Identifier: Apache-2.0
// Bounds of frames against the simulated steps of all divisions of their layers.
#include "parallel/cluster_plan/stage_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"
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

TrainingSetup small_model(std::int64_t layers, std::int64_t batch) {
  TrainingSetup setup;
  setup.layers = layers;
  setup.hidden = setup.sequence = 1024;
  setup.heads = 4;
  setup.vocabulary = 8192;
  setup.global_batch = batch;
  return setup;
}

// Nodes of so many devices, and a rate between them.
System nodes_of(std::int64_t devices, double bytes_per_second) {
  System system = system_called("v100-quad").value();
  system.accelerator.memory_bytes = 1e12;
  system.fabric.tiers[0].devices = devices;
  system.fabric.tiers[1].bytes_per_second = bytes_per_second;
  return system;
}

PlanFrame frame_of(std::int64_t pipeline, std::int64_t chunks, PipelineKind kind) {
  PlanFrame frame;
  frame.pipeline = pipeline;
  frame.virtual_stages = chunks;
  frame.schedule = kind;
  return frame;
}

// Stages of one or two devices on nodes of two and three: some neighbours share a node. Links
// between nodes are as fast as passes, and much slower and faster; copies to the host take longer
// than passes. No division of the layers is simulated to take less than the bound, which is near
// the best of them.
TEST(StagePartition, HasBoundsBelowSimulationsWhereSomeStagesShareNodes) {
  base::Random random(5);
  const FixedChoices fixed;
  StepOptions step;
  step.recorded_launches = true;  // hosts do not hide what messages take
  step.host_bandwidth = 2e10;
  std::size_t compared = 0, near = 0, interleaved = 0;
  for (const bool overlaps : {false, true}) {
    for (const std::int64_t layers : {8, 11}) {
      TrainingSetup setup = small_model(layers, 16);
      setup.overlap_transfers = overlaps;
      for (const std::int64_t node : {2, 3}) {
        for (const double rate : {1e8, 2e9}) {
          const System system = nodes_of(node, rate);
          const StagePrices prices(system, setup, step, fixed);
          const PlanTrials trials(prices, 8);
          std::vector<PlanFrame> frames;
          for (const std::int64_t pipeline : {2, 4}) {
            for (const std::int64_t chunks : {1, 2}) {
              frames.push_back(frame_of(pipeline, chunks, PipelineKind::k1F1B));
              frames.push_back(frames.back());
              frames.back().offload = Offload::kActivations;
              frames.push_back(frames.back());
              frames.back().offload = Offload::kWeights;
              frames.back().zero = 3;
            }
            frames.push_back(frame_of(pipeline, 1, PipelineKind::kZbH1));
            frames.push_back(frame_of(pipeline, 1, PipelineKind::kGpipe));
            frames.push_back(frame_of(pipeline, 1, PipelineKind::kDualPipe));
          }
          for (PlanFrame frame : frames) {
            for (const std::int64_t data : {1, 2}) {
              frame.data = data;
              const auto found = partition_stages(prices, frame);
              ASSERT_TRUE(found) << to_string(frame);
              // The closed form of GPipe counts forward passes that its terms leave out.
              if (frame.schedule != PipelineKind::kGpipe) {
                EXPECT_LE(frame_bound_s(prices, frame), found->bound_s * (1 + 1e-9))
                    << to_string(frame);
              }
              double best = 1e300;
              std::vector<ChunkLayers> chunks = found->chunks;
              for (int trial = 0; trial < 4; ++trial) {
                const auto one = trials.simulate(frame, chunks);
                ASSERT_TRUE(one) << to_string(frame);
                best = std::min(best, one->seconds);
                EXPECT_LE(found->bound_s, one->seconds * (1 + 1e-9))
                    << to_string(frame) << ", " << layers << " layers, nodes of " << node
                    << ", rate " << rate << ", overlaps " << overlaps << ", trial " << trial;
                const auto from = static_cast<std::size_t>(random.below(chunks.size()));
                const auto to = static_cast<std::size_t>(random.below(chunks.size()));
                // Chunks of a rank differ by one layer at most.
                const bool keeps = frame.virtual_stages == 1 || chunks[from].kept > chunks[to].kept;
                if (chunks[from].kept > 1 && keeps) {
                  --chunks[from].kept;
                  ++chunks[to].kept;
                }
              }
              ++compared;
              interleaved += frame.virtual_stages > 1 ? 1 : 0;
              if (frame.offload != Offload::kNone) continue;
              near += best < 1.1 * found->bound_s ? 1 : 0;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(compared, 576U);
  EXPECT_EQ(interleaved, 192U);
  EXPECT_GT(near, 320U / 2);  // of those without copies
}

// Four stages of two devices, whose messages take longer than passes where they leave a node. Twice
// the time of a message adds it as often as the schedule waits for one: B of the three boundaries
// leave a node, and so do messages from the last rank to the first, if any does.
TEST(StagePartition, KnowsWhichBoundariesLeaveANode) {
  const FixedChoices fixed;
  StepOptions step;
  step.recorded_launches = true;
  struct Case {
    PipelineKind kind;
    std::int64_t chunks;
    bool overlaps;
    double at_all, at_one;  // messages, where all and where one of the boundaries leave a node
  };
  // Sends that block: the sums have 2 B messages of the first of 16 micro-batches. Rank 2 then
  // sends 15 back and 14 forward. With two chunks, the first micro-batch has 3 B + 1 messages, and
  // rank 2 sends 31 back and 25 forward. Both directions of DualPipe send all but the last. Sends
  // beside passes: a link takes all messages but one back, behind the first forward.
  for (const Case& c : {Case{PipelineKind::k1F1B, 1, false, 6 + 29, 2 + 15},
                        {PipelineKind::k1F1B, 2, false, 10 + 56, 4 + 31},
                        {PipelineKind::kZbH1, 1, false, 6 + 29, 2 + 15},
                        {PipelineKind::kDualPipe, 1, false, 31, 15},
                        {PipelineKind::k1F1B, 1, true, 6 + 15, 2 + 15},
                        {PipelineKind::k1F1B, 2, true, 10 + 31, 4 + 31},
                        {PipelineKind::kZbH1, 1, true, 6 + 15, 2 + 15},
                        {PipelineKind::kDualPipe, 1, true, 16, 8}}) {
    TrainingSetup setup = small_model(8, 16);
    // Otherwise the first rank and the last exchange gradients, and those of both directions do.
    setup.untied = true;
    setup.frozen = c.kind == PipelineKind::kDualPipe;
    setup.overlap_transfers = c.overlaps;
    PlanFrame frame = frame_of(4, c.chunks, c.kind);
    frame.tensor = 2;
    frame.sequence_parallel = true;
    for (const std::int64_t node : {2, 4, 8}) {
      const System system = nodes_of(node, 1e8), slower = nodes_of(node, 5e7);
      const double bytes = 2.0 * 1024 * 1024 / 2;
      const double more = slower.fabric.transfer(bytes, node).seconds() -
                          system.fabric.transfer(bytes, node).seconds();
      const auto bound = [&](const System& one) {
        const StagePrices prices(one, setup, step, fixed);
        const auto found = partition_stages(prices, frame);
        const auto simulated = PlanTrials(prices, 8).simulate(frame, found->chunks);
        EXPECT_LE(found->bound_s, simulated->seconds * (1 + 1e-9)) << to_string(frame);
        return found->bound_s;
      };
      const double messages = node == 2 ? c.at_all : node == 4 ? c.at_one : 0;
      EXPECT_NEAR((bound(slower) - bound(system)) / more, messages, 1e-3)
          << to_string(frame) << ", nodes of " << node << ", overlaps " << c.overlaps;
    }
  }
}

}  // namespace
}  // namespace egret::parallel
