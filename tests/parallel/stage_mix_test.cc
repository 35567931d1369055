// SPDX-License-Identifier: Apache-2.0
// Stages with submeshes and degrees of their own: transfers, simulation, bounds, and plans against
// enumeration.
#include "parallel/cluster_plan/stage_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/random.h"
#include "parallel/cluster_plan/cluster_plan_file.h"
#include "parallel/cluster_plan/cluster_planner.h"
#include "parallel/cluster_plan/plan_trials.h"
#include "parallel/transformer/stage_transfer.h"

namespace egret::parallel {
namespace {

using ::testing::HasSubstr;

TrainingSetup model(std::int64_t layers, std::int64_t hidden, std::int64_t batch) {
  TrainingSetup setup;
  setup.layers = layers;
  setup.hidden = hidden;
  setup.heads = 4;
  setup.sequence = 1024;
  setup.vocabulary = 8192;
  setup.global_batch = batch;
  return setup;
}

System machine(const std::string& name, double memory_bytes = 1e13) {
  System system = system_called(name).value();
  system.accelerator.memory_bytes = memory_bytes;
  for (AcceleratorPool& pool : system.pools) pool.accelerator.memory_bytes = memory_bytes;
  return system;
}

// Otherwise small models wait for launches, and more devices do not help.
const StepOptions kRecorded{.recorded_launches = true};

// So many devices as they are, then slower ones with another memory.
System with_slower(System system, std::int64_t fast, double factor, double memory_bytes) {
  Accelerator slow = system.accelerator;
  slow.name = "slow";
  for (double& peak : slow.peak_flops_per_second) peak /= factor;
  slow.bytes_per_second /= factor;
  slow.memory_bytes = memory_bytes;
  system.pools = {{system.accelerator, fast}, {slow, 0}};
  return system;
}

TEST(StageTransfer, OfEqualRanksIsThatOfTheirParts) {
  const System system = machine("dgx-a100");
  TrainingSetup setup = model(8, 2048, 64);
  setup.tensor = 4;
  setup.pipeline = 2;
  setup.data = 2;
  setup.micro_batch = 2;
  const double whole = 2.0 * 2 * 1024 * 2048;  // of a replica
  const double gather =
      system.fabric.collective(CollectiveKind::kAllGather, whole, {4, 1}).seconds();
  EXPECT_EQ(stage_transfer(system, setup, 0, 1, 1).seconds(),
            system.fabric.transfer(whole / 4, 8).seconds() + gather);
  setup.sequence_parallel = true;
  EXPECT_EQ(stage_transfer(system, setup, 1, 0, 1).seconds(),
            system.fabric.transfer(whole / 4, 8).seconds());
}

TEST(StageTransfer, OfUnlikeRanksFollowsTheSideWithFewerDevices) {
  const System system = machine("dgx-a100");
  TrainingSetup setup = model(8, 2048, 64);
  setup.pipeline = 3;
  setup.micro_batch = 4;
  setup.sequence_parallel = true;
  setup.stage_tensor = "2,4,1";
  setup.stage_data = "1,2,4";
  setup.stage_first = "0,8,16";
  ASSERT_TRUE(setup.check().ok()) << setup.check().message();
  const double whole = 2.0 * 4 * 1024 * 2048;  // of all replicas
  const std::int64_t between_nodes = 8;
  // A sender of rank 0 has half of the tokens of all sequences; a receiver a quarter of the tokens
  // of half of them: 2 x 2 receivers each.
  const CollectiveTime one = system.fabric.transfer(whole / 2, between_nodes);
  const CollectiveTime first = stage_transfer(system, setup, 0, 1, 1);
  EXPECT_EQ(first.wire_bytes, whole / 2);
  EXPECT_DOUBLE_EQ(first.latency_s, 4 * one.latency_s);
  EXPECT_EQ(stage_transfer(system, setup, 1, 0, 1).seconds(), first.seconds());
  // From 4 parts of the tokens of 2 x 2 sequences to single sequences: a sender meets 2 receivers,
  // a receiver 4 senders.
  const CollectiveTime second = stage_transfer(system, setup, 1, 2, 1);
  EXPECT_EQ(second.wire_bytes, whole / 4);
  EXPECT_DOUBLE_EQ(second.latency_s,
                   4 * system.fabric.transfer(whole / 4, between_nodes).latency_s);
  // Without sequence parallelism, the receivers gather.
  setup.sequence_parallel = false;
  EXPECT_DOUBLE_EQ(
      stage_transfer(system, setup, 0, 1, 1).seconds() - first.seconds(),
      system.fabric.collective(CollectiveKind::kAllGather, whole / 2, {4, 1}).seconds());
}

TEST(StageTransfer, UsesTheInnermostTierThatHoldsBothRanks) {
  const Fabric fabric = machine("dgx-a100").fabric;
  const auto tier = [&](const StageDegrees& a, const StageDegrees& b) {
    return fabric.transfer(1e6, stage_distance(fabric, a, b)).tier;
  };
  EXPECT_EQ(tier({2, 1, 1, 0}, {4, 1, 1, 4}), 0U);
  EXPECT_EQ(tier({4, 1, 1, 4}, {4, 1, 1, 8}), 1U);
  EXPECT_EQ(tier({8, 1, 2, 0}, {1, 1, 1, 16}), 1U);
}

TEST(TrainingSetup, ChecksDegreesOfRanks) {
  TrainingSetup good = model(8, 1024, 16);
  good.pipeline = 2;
  good.micro_batch = 2;
  good.stage_tensor = "4,2";
  good.stage_data = "1,2";
  ASSERT_TRUE(good.check().ok()) << good.check().message();
  EXPECT_EQ(good.devices(), 8);
  EXPECT_EQ(good.micro_batches(), 8);
  EXPECT_EQ(good.stages()[1], (StageDegrees{2, 1, 2, 4}));
  EXPECT_EQ(good.of_stage(good.stages()[1]).micro_batch, 1);
  const auto message = [&](const std::function<void(TrainingSetup&)>& change) {
    TrainingSetup setup = good;
    change(setup);
    return std::string(setup.check().message());
  };
  EXPECT_THAT(message([](auto& s) { s.stage_tensor = "4"; }), HasSubstr("each of the 2 pipeline"));
  EXPECT_THAT(message([](auto& s) { s.stage_tensor = "4,x"; }), HasSubstr("each of the 2"));
  EXPECT_THAT(message([](auto& s) { s.stage_data = "0,2"; }), HasSubstr("each of the 2"));
  EXPECT_THAT(message([](auto& s) { s.stage_data = "1,4"; }), HasSubstr("--micro-batch"));
  EXPECT_THAT(message([](auto& s) { s.stage_tensor = "3,2"; }), HasSubstr("multiple of --tp"));
  EXPECT_THAT(message([](auto& s) { s.tensor = 2; }), HasSubstr("cannot be combined"));
  EXPECT_THAT(message([](auto& s) { s.stage_first = "0,3"; }), HasSubstr("two pipeline ranks"));
  EXPECT_THAT(message([](auto& s) { s.schedule = PipelineKind::kDualPipe; }),
              HasSubstr("dualpipe"));
}

// The lists can state equal degrees.
TEST(StepSimulation, IsTheSameWithDegreesByRank) {
  const System system = machine("dgx-a100");
  for (const std::int64_t zero : {0, 1, 3}) {
    for (const Offload offload : {Offload::kNone, Offload::kActivations, Offload::kOptimizer}) {
      TrainingSetup same = model(8, 2048, 32);
      same.pipeline = 2;
      same.tensor = 2;
      same.data = 2;
      same.micro_batch = 2;
      TrainingSetup listed = same;
      listed.tensor = listed.data = 1;
      listed.micro_batch = 4;
      listed.stage_tensor = listed.stage_data = "2,2";
      StepOptions options;
      options.zero = zero;
      options.offload = offload;
      const auto a = simulate_step(system, same, options),
                 b = simulate_step(system, listed, options);
      ASSERT_TRUE(a.ok() && b.ok()) << b.status().message();
      EXPECT_EQ(a->seconds, b->seconds) << zero;
      EXPECT_EQ(a->mfu, b->mfu);
      for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(a->devices[i].peak_total_bytes, b->devices[i].peak_total_bytes);
    }
  }
}

TEST(StepSimulation, GivesRanksTheirOwnMemoryAndTime) {
  const System system = with_slower(machine("dgx-a100"), 4, 3, 1e13);
  TrainingSetup setup = model(8, 2048, 32);
  setup.pipeline = 2;
  setup.micro_batch = 4;
  setup.stage_tensor = "4,1";
  setup.stage_data = "1,4";
  const auto split = simulate_step(system, setup);
  ASSERT_TRUE(split.ok()) << split.status().message();
  const auto weights = [&](std::size_t device) {
    return split->devices[device].peak_bytes[static_cast<std::size_t>(MemoryKind::kWeights)];
  };
  // Four layers and the embedding (or the output layer) each; a quarter of each matrix on rank 0.
  EXPECT_GT(weights(1), 3.9 * weights(0));
  const auto computing = [&](std::size_t device) {
    return split->devices[device].seconds[static_cast<std::size_t>(TimeUse::kProducts)];
  };
  EXPECT_GT(computing(1), 2.5 * computing(0));
}

// All ways to place two or three stages on so many devices.
std::vector<PlanFrame> mixed_frames(const PlanFrame& group, std::int64_t devices) {
  std::vector<StageDegrees> choices;
  for (const std::int64_t n : {1, 2, 4}) {
    for (const std::int64_t tensor : {1, 2, 4}) {
      for (const std::int64_t context : {1, 2}) {
        if (n % (tensor * context) != 0) continue;
        const std::int64_t data = n / tensor / context;
        if (group.micro_batch % data == 0) choices.push_back({tensor, context, data, 0});
      }
    }
  }
  std::vector<PlanFrame> result;
  const auto add = [&](std::vector<StageDegrees> stages) {
    std::int64_t sum = 0;
    for (const StageDegrees& stage : stages) sum += stage.devices();
    if (sum > devices) return;
    // From the largest, so that none straddles nodes.
    std::vector<StageDegrees*> order;
    for (StageDegrees& stage : stages) order.push_back(&stage);
    std::ranges::stable_sort(
        order, [](const auto* a, const auto* b) { return a->devices() > b->devices(); });
    std::int64_t next = 0;
    for (StageDegrees* stage : order) {
      stage->first_device = next;
      next += stage->devices();
    }
    PlanFrame frame = group;
    frame.pipeline = static_cast<std::int64_t>(stages.size());
    frame.stages = std::move(stages);
    result.push_back(std::move(frame));
  };
  for (const StageDegrees& a : choices) {
    for (const StageDegrees& b : choices) {
      add({a, b});
      for (const StageDegrees& c : choices) add({a, b, c});
    }
  }
  return result;
}

TEST(StageMixes, HaveBoundsBelowAllSimulations) {
  base::Random random(5);
  std::size_t compared = 0, near = 0, groups = 0;
  for (const bool overlaps : {false, true}) {
    for (const bool slower : {false, true}) {
      System system = machine(overlaps ? "dgx-a100" : "v100-quad");
      if (slower) system = with_slower(system, 4, 2.5, 1e13);
      TrainingSetup setup = model(6, 1024, 16);
      setup.overlap_gradients = setup.overlap_transfers = overlaps;
      const FixedChoices fixed;
      StepOptions step;
      step.recorded_launches = overlaps;
      const StagePrices prices(system, setup, step, fixed);
      const PlanTrials trials(prices, 8);
      const StageMixes mixes(prices, 8, fixed, false);
      std::vector<MixedGroup> all = mixes.groups();
      mixes.raise_bounds(all, 1e300);
      for (const MixedGroup& group : all) {
        if (!random.chance(0.25)) continue;
        const auto plans = mixes.solve(group.frame, 1e300);
        ASSERT_TRUE(plans);
        EXPECT_LE(group.bound_s, plans->bound_s * (1 + 1e-9)) << to_string(group.frame);
        ++groups;
        for (const PlanFrame& frame : mixed_frames(group.frame, 8)) {
          if (!random.chance(0.01)) continue;
          const auto found = partition_stages(prices, frame);
          ASSERT_TRUE(found) << to_string(frame);
          EXPECT_LE(plans->bound_s, found->bound_s * (1 + 1e-9)) << to_string(frame);
          const auto own = trials.simulate(frame, found->chunks);
          ASSERT_TRUE(own) << to_string(frame);
          EXPECT_LE(found->bound_s, own->seconds * (1 + 1e-9))
              << to_string(frame) << " overlaps " << overlaps << " slower " << slower;
          std::vector<ChunkLayers> other = found->chunks;
          const auto from = static_cast<std::size_t>(random.below(other.size()));
          const auto to = static_cast<std::size_t>(random.below(other.size()));
          if (other[from].kept > 1) {
            --other[from].kept;
            ++other[to].kept;
          }
          const auto moved = trials.simulate(frame, other);
          ASSERT_TRUE(moved);
          EXPECT_LE(found->bound_s, moved->seconds * (1 + 1e-9)) << to_string(frame);
          ++compared;
          near += own->seconds < 1.2 * found->bound_s ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(groups, 40U);
  EXPECT_GT(compared, 300U);
  EXPECT_GT(near, compared / 4);
}

// Four stages of half a node each: two of them may lie in each node, so a message crosses.
TEST(StageMixes, CountMessagesBetweenNodes) {
  System fast = machine("v100-quad");
  System slow = fast;
  slow.fabric.tiers[1].bytes_per_second /= 50;
  TrainingSetup setup = model(8, 1024, 64);
  setup.untied = true;
  FixedChoices fixed;
  fixed.tensor = 2;
  fixed.context = fixed.data = fixed.micro_batch = 1;
  fixed.pipeline = 4;
  fixed.sequence_parallel = true;
  fixed.zero = 0;
  fixed.offload = Offload::kNone;
  double bounds[2] = {};
  for (const System* system : {&fast, &slow}) {
    const StagePrices prices(*system, setup, kRecorded, fixed);
    const StageMixes mixes(prices, 8, fixed, false);
    const std::vector<MixedGroup> groups = mixes.groups();
    const auto group =
        std::ranges::find(groups, 1, [](const MixedGroup& each) { return each.frame.micro_batch; });
    ASSERT_NE(group, groups.end());
    const auto plans = mixes.solve(group->frame, 1e300);
    ASSERT_TRUE(plans);
    PlanFrame frame = group->frame;
    frame.pipeline = 4;
    for (const std::int64_t first : {0, 2, 4, 6}) frame.stages.push_back({2, 1, 1, first});
    const auto found = partition_stages(prices, frame);
    ASSERT_TRUE(found);
    EXPECT_LE(plans->bound_s, found->bound_s * (1 + 1e-9));
    EXPECT_GE(plans->bound_s, 0.98 * found->bound_s);
    bounds[system == &slow ? 1 : 0] = plans->bound_s;
  }
  EXPECT_GT(bounds[1], 1.5 * bounds[0]);
}

void compositions(std::int64_t total, std::int64_t parts, std::vector<std::int64_t>& sofar,
                  const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  if (parts == 0) {
    if (total == 0) visit(sofar);
    return;
  }
  for (std::int64_t one = 1; one <= total - parts + 1; ++one) {
    sofar.push_back(one);
    compositions(total - one, parts - 1, sofar, visit);
    sofar.pop_back();
  }
}

// Slow links within nodes: the sum of a stage's gradients takes longer than all passes, so layers
// that leave the first stage wait for it in the second one.
TEST(StageMixes, CountGradientsOfLaterStages) {
  System system = machine("v100-quad");
  for (Tier& tier : system.fabric.tiers) tier.bytes_per_second /= 20;
  TrainingSetup setup = model(8, 1024, 4);
  setup.untied = true;
  FixedChoices fixed;
  fixed.tensor = fixed.context = fixed.micro_batch = 1;
  fixed.data = 4;
  fixed.pipeline = 2;
  fixed.zero = 0;
  fixed.offload = Offload::kNone;
  fixed.recompute = Recompute::kNone;
  const StagePrices prices(system, setup, kRecorded, fixed);
  const PlanTrials trials(prices, 8);
  const StageMixes mixes(prices, 8, fixed, false);
  const std::vector<MixedGroup> groups = mixes.groups();
  const auto group =
      std::ranges::find(groups, 4, [](const MixedGroup& each) { return each.frame.micro_batch; });
  ASSERT_NE(group, groups.end());
  PlanFrame frame = group->frame;
  frame.pipeline = 2;
  frame.stages = {{1, 1, 4, 0}, {1, 1, 4, 4}};
  double best = 1e300;
  for (std::int64_t first = 1; first < 8; ++first) {
    const auto step = trials.simulate(frame, {{first, 0, 0}, {8 - first, 0, 0}});
    ASSERT_TRUE(step);
    best = std::min(best, step->seconds);
  }
  EXPECT_TRUE(mixes.solve(group->frame, 1.01 * best));
  EXPECT_FALSE(mixes.solve(group->frame, 0.9 * best));
}

// The least simulated step of all plans that fit, of equal degrees and of others.
double exhaustive_s(const System& system, const TrainingSetup& setup, const FixedChoices& fixed,
                    std::int64_t devices, bool mixed, std::size_t& simulated) {
  const StagePrices prices(system, setup, kRecorded, fixed);
  const PlanTrials trials(prices, devices);
  std::vector<PlanFrame> frames;
  FrameSpace{setup, devices, fixed}.visit([](const PlanFrame&) { return true; },
                                          [&](const PlanFrame& f) { frames.push_back(f); });
  if (mixed) {
    const StageMixes mixes(prices, devices, fixed, false);
    for (const MixedGroup& group : mixes.groups()) {
      const auto plans = mixes.solve(group.frame, 1e300);
      if (!plans) continue;
      frames.insert(frames.end(), plans->frames.begin(), plans->frames.end());
    }
  }
  double best = 1e300;
  for (const PlanFrame& frame : frames) {
    std::vector<std::int64_t> sofar;
    compositions(setup.layers, frame.pipeline, sofar, [&](const auto& layers) {
      std::vector<ChunkLayers> chunks;
      for (const std::int64_t count : layers) {
        chunks.push_back(fixed.recompute == Recompute::kFull ? ChunkLayers{0, 0, count}
                                                             : ChunkLayers{count, 0, 0});
      }
      ++simulated;
      const auto one = trials.simulate(frame, chunks);
      if (one && one->fits()) best = std::min(best, one->seconds);
    });
  }
  return best;
}

TEST(StageMixes, EqualTheExhaustiveOptimumOnSmallMachines) {
  struct Case {
    std::int64_t devices, pipeline, layers, batch, fast;
    double factor, slow_memory;
    Recompute recompute;
  };
  std::size_t better = 0;
  // Devices that are alike; three of them for two stages; slower ones; these with less memory.
  for (const Case& c : {Case{4, 0, 4, 8, 4, 1, 1e13, Recompute::kNone},
                        Case{3, 2, 4, 64, 4, 1, 1e13, Recompute::kNone},
                        Case{4, 2, 5, 16, 2, 3, 1e13, Recompute::kNone},
                        Case{4, 0, 5, 8, 2, 2, 9e8, Recompute::kFull}}) {
    System system = machine("v100-quad");
    if (c.fast < 4) system = with_slower(system, c.fast, c.factor, c.slow_memory);
    const TrainingSetup setup = model(c.layers, 1024, c.batch);
    FixedChoices fixed;
    fixed.context = 1;
    fixed.recompute = c.recompute;
    fixed.offload = Offload::kNone;
    fixed.virtual_stages = 1;
    if (c.pipeline > 0) fixed.pipeline = c.pipeline;
    std::size_t simulated = 0;
    const double best = exhaustive_s(system, setup, fixed, c.devices, true, simulated);
    const double equal = exhaustive_s(system, setup, fixed, c.devices, false, simulated);
    EXPECT_GT(simulated, 40U);
    ClusterPlanOptions options;
    options.devices = c.devices;
    options.limit_simulations = 100'000;
    const auto plan = plan_cluster({system, setup, kRecorded, fixed}, options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_NEAR(plan->best.seconds, best, 1e-9 * best)
        << to_string(plan->best.frame) << " " << layers_text(plan->best);
    EXPECT_LE(plan->bound_s, best * (1 + 1e-9));
    better += best < equal * (1 - 1e-3) ? 1 : 0;
    // The plan's file repeats its simulation.
    const auto again = simulate_step(system, plan->setup, plan->options);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->seconds, plan->best.seconds);
  }
  EXPECT_GE(better, 1U);
}

TEST(StageMixes, AreNeverWorseThanTheEqualCutOnUnlikeDevices) {
  struct Case {
    const char* name;
    std::int64_t fast, devices;
    double factor, slow_memory;
  };
  for (const Case& c : {Case{"dgx-a100", 16, 32, 2.5, 1.6e10}, Case{"v100-quad", 4, 12, 2, 1.6e10},
                        Case{"dgx-h100", 8, 24, 3, 8e10}}) {
    const System system = with_slower(machine(c.name, 8e10), c.fast, c.factor, c.slow_memory);
    TrainingSetup setup = model(24, 2048, 96);
    setup.heads = 16;
    const auto plan = plan_cluster({system, setup, {}, {}}, {.devices = c.devices});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(plan->best.fits());
    EXPECT_LE(plan->bound_s, plan->best.seconds);
    const auto equal = std::ranges::find(plan->baselines, "equal", &PlannedBaseline::name);
    ASSERT_NE(equal, plan->baselines.end());
    ASSERT_TRUE(equal->exists && equal->step.fits());
    EXPECT_LE(plan->best.seconds, equal->step.seconds) << c.name;
    for (const ChunkLayers& chunk : equal->step.chunks)
      EXPECT_LE(std::abs(chunk.all() - equal->step.chunks.front().all()), 1);
    // Each rank keeps to the memory of its own devices.
    for (std::size_t rank = 0; rank < plan->best.peak_bytes.size(); ++rank) {
      const StageDegrees stage = plan->best.frame.stage(static_cast<std::int64_t>(rank));
      EXPECT_LE(plan->best.peak_bytes[rank],
                system.usable_bytes(stage.first_device, stage.devices()));
    }
  }
}

TEST(StageMixes, KeepFixedDegrees) {
  const System system = with_slower(machine("v100-quad"), 4, 2, 1e13);
  FixedChoices fixed;
  fixed.tensor = 2;
  fixed.pipeline = 3;
  const StepOptions step;
  const TrainingSetup setup = model(6, 1024, 8);
  const StagePrices prices(system, setup, step, fixed);
  const StageMixes mixes(prices, 8, fixed, false);
  std::size_t seen = 0;
  for (const MixedGroup& group : mixes.groups()) {
    const auto plans = mixes.solve(group.frame, 1e300);
    if (!plans) continue;
    for (const PlanFrame& frame : plans->frames) {
      EXPECT_EQ(frame.pipeline, 3);
      for (const StageDegrees& stage : frame.stages) EXPECT_EQ(stage.tensor, 2);
      ++seen;
    }
  }
  EXPECT_GT(seen, 0U);
  fixed.schedule = PipelineKind::kZbH1;
  EXPECT_TRUE(StageMixes(prices, 8, fixed, false).groups().empty());
}

}  // namespace
}  // namespace egret::parallel
