// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/step_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "base/formats/json.h"
#include "parallel/simulator/chrome_trace.h"
#include "parallel/transformer/step_estimate.h"
#include "parallel/transformer/training_memory.h"

namespace egret::parallel {
namespace {

using ::testing::HasSubstr;

System a100() { return system_called("dgx-a100").value(); }

TrainingSetup gpt(std::int64_t tensor, std::int64_t pipeline, std::int64_t data) {
  TrainingSetup setup;
  setup.layers = 16;
  setup.hidden = 2048;
  setup.heads = 16;
  setup.tensor = tensor;
  setup.pipeline = pipeline;
  setup.data = data;
  setup.global_batch = 16 * data;
  return setup;
}

StepReport simulate(const System& system, const TrainingSetup& setup,
                    const StepOptions& options = {}) {
  const auto report = simulate_step(system, setup, options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.value();
}

double use_of(const SecondsByUse& seconds, TimeUse use) {
  return seconds[static_cast<std::size_t>(use)];
}

struct Case {
  TrainingSetup setup;
  StepOptions options = {};
};

// Setups that exercise every exchange and schedule.
std::vector<Case> cases() {
  std::vector<Case> result;
  const auto add = [&](TrainingSetup setup, StepOptions options = {}) -> Case& {
    return result.emplace_back(Case{setup, options});
  };
  add(gpt(1, 1, 1));
  add(gpt(2, 4, 2)).setup.schedule = PipelineKind::kGpipe;
  add(gpt(2, 4, 2)).setup.sequence_parallel = true;
  add(gpt(1, 4, 4)).setup.virtual_stages = 2;
  add(gpt(1, 4, 4)).setup.schedule = PipelineKind::kZbH1;
  add(gpt(1, 4, 4)).setup.schedule = PipelineKind::kDualPipe;
  add(gpt(8, 2, 4)).setup.overlap_gradients = true;
  add(gpt(8, 2, 4)).setup.overlap_transfers = true;
  add(gpt(1, 1, 8)).setup.recompute = Recompute::kFull;
  for (const std::int64_t zero : {1, 2, 3}) add(gpt(1, 1, 8), {.zero = zero});
  add(gpt(1, 2, 8), {.zero = 3, .prefetch = 0});
  add(gpt(1, 2, 2), {.offload = Offload::kActivations});
  add(gpt(1, 2, 2), {.offload = Offload::kOptimizer});
  add(gpt(1, 2, 2), {.zero = 3, .offload = Offload::kWeights});
  add(gpt(2, 2, 1), {.offload = Offload::kActivationsDisk});
  add(gpt(2, 2, 1), {.offload = Offload::kWeightsDisk}).setup.virtual_stages = 2;
  add(gpt(1, 4, 1), {.offload = Offload::kWeights}).setup.schedule = PipelineKind::kZbH1;
  add(gpt(1, 4, 2), {.forward_only = true});
  add(gpt(1, 4, 2), {.recorded_launches = true});
  add(gpt(1, 4, 3), {.each_replica = true}).setup.overlap_gradients = true;
  add(gpt(1, 2, 2)).setup.frozen = true;
  return result;
}

TEST(StepSimulation, StagesAreAsFastAsTheirSlowestDevices) {
  const System fast = a100();
  AcceleratorPool slow{fast.accelerator, 0};  // all further ones
  for (double& peak : slow.accelerator.peak_flops_per_second) peak /= 2;
  System mixed = fast, slow_only = fast;
  mixed.pools = {{fast.accelerator, 2}, slow};
  slow_only.pools = {slow};
  slow_only.accelerator = slow.accelerator;
  const TrainingSetup setup = gpt(2, 2, 1);  // the second stage is slow
  EXPECT_LT(simulate(fast, setup).seconds, simulate(mixed, setup).seconds);
  EXPECT_LT(simulate(mixed, setup).seconds, simulate(slow_only, setup).seconds);
}

// Equal degrees, given for each rank or for all: some neighbours are in one node, others are not.
TEST(StepSimulation, SendsBetweenNodesWhereStagesLieInTwo) {
  TrainingSetup all = gpt(1, 16, 1), each = all;
  each.stage_tensor = "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1";
  EXPECT_DOUBLE_EQ(simulate(a100(), all).seconds, simulate(a100(), each).seconds);
  System slow = a100();
  slow.fabric.tiers[1].bytes_per_second = 1e8;
  EXPECT_GT(simulate(slow, all).seconds, simulate(a100(), all).seconds + 0.01);
  EXPECT_EQ(simulate(slow, gpt(1, 8, 1)).seconds, simulate(a100(), gpt(1, 8, 1)).seconds);
}

// The hosts work for 2 and for 5 ms after the norm of the gradients is known. Of the 5 ms, 2 are
// those that both have in common.
TEST(StepSimulation, HostsWorkAsLongAsTheirOwnDeviceSays) {
  System system = a100();
  system.accelerator.host_seconds_per_kernel = system.accelerator.host_seconds_per_collective = 0;
  system.accelerator.host_seconds_per_step = 0;
  const TrainingSetup setup = gpt(1, 2, 1);
  const StepReport without = simulate(system, setup);
  AcceleratorPool quick{system.accelerator, 1}, slow{system.accelerator, 0};
  quick.accelerator.host_seconds_per_step = 2e-3;
  slow.accelerator.host_seconds_per_step = 5e-3;
  for (const bool slow_first : {false, true}) {
    system.pools = {slow_first ? slow : quick, slow_first ? quick : slow};
    system.pools[0].devices = 1;
    system.pools[1].devices = 0;
    system.accelerator = system.pools[0].accelerator;
    const StepReport report = simulate(system, setup);
    const auto host_s = [&](std::size_t rank) {
      return report.devices[rank].part_s[static_cast<std::size_t>(StepPart::kHost)];
    };
    EXPECT_NEAR(host_s(slow_first ? 1 : 0), 2e-3, 1e-12);
    EXPECT_NEAR(host_s(slow_first ? 0 : 1), 5e-3, 1e-12);
    EXPECT_NEAR(use_of(report.devices[slow_first ? 0 : 1].seconds, TimeUse::kHost), 5e-3, 1e-12);
    // The slow host's device updates its weights last, as soon as its host is ready.
    const auto optimizer_s = [&](std::size_t rank) {
      return without.devices[rank].part_s[static_cast<std::size_t>(StepPart::kOptimizer)];
    };
    const double last =
        std::max(2e-3 + optimizer_s(slow_first ? 1 : 0), 5e-3 + optimizer_s(slow_first ? 0 : 1));
    EXPECT_NEAR(report.seconds, without.seconds - std::max(optimizer_s(0), optimizer_s(1)) + last,
                1e-12);
  }
}

TEST(StepSimulation, AccountsForEachMomentOfEachDevice) {
  std::size_t number = 0;
  for (const auto& [setup, options] : cases()) {
    const StepReport report = simulate(a100(), setup, options);
    for (const DeviceReport& device : report.devices) {
      const double sum = std::accumulate(device.seconds.begin(), device.seconds.end(), 0.0);
      EXPECT_NEAR(sum, report.seconds, 1e-9 * report.seconds) << "case " << number;
      for (const double seconds : device.seconds) EXPECT_GE(seconds, 0);
    }
    EXPECT_GT(report.mfu, 0);
    EXPECT_LT(report.mfu, 1);
    ++number;
  }
}

TEST(StepSimulation, ReleasesAllActivations) {
  std::size_t number = 0;
  for (const auto& [setup, options] : cases()) {
    for (const DeviceReport& device : simulate(a100(), setup, options).devices) {
      EXPECT_NEAR(device.memory.back().bytes, device.memory.front().bytes, 1) << "case " << number;
      for (const MemorySample& sample : device.memory)
        EXPECT_LE(sample.bytes, device.peak_total_bytes);
    }
    ++number;
  }
}

TEST(StepSimulation, SumsOfTheTraceAreThoseOfTheReport) {
  for (const auto& [setup, options] : cases()) {
    const StepSimulation simulation =
        std::move(StepSimulation::make(a100(), setup, options)).value();
    const StepReport report = simulation.report();
    const auto trace = base::Json::parse(chrome_trace(simulation, report));
    ASSERT_TRUE(trace.ok());
    std::map<std::pair<std::size_t, std::string>, double> sums;
    double end = 0;
    for (const base::Json& event : trace->find("traceEvents")->items()) {
      if (event.find("ph")->as_string().value() != "X") continue;
      const double seconds = event.find("dur")->as_real().value() * 1e-6;
      const auto device = static_cast<std::size_t>(event.find("pid")->as_integer().value());
      sums[{device, event.find("cat")->as_string().value()}] += seconds;
      end = std::max(end, event.find("ts")->as_real().value() * 1e-6 + seconds);
    }
    EXPECT_NEAR(end, report.seconds, 1e-9 * report.seconds);
    for (std::size_t device = 0; device < report.devices.size(); ++device) {
      for (std::size_t part = 0; part < kStepPartNames.size(); ++part) {
        EXPECT_NEAR((sums[{device, std::string(kStepPartNames[part])}]),
                    report.devices[device].part_s[part], 1e-9 * report.seconds);
      }
    }
  }
}

// Not a theorem where flows share links (event_simulator.h), but true of the steps people run.
TEST(StepSimulation, IsNeverSlowerWithMoreBandwidth) {
  std::size_t number = 0;
  for (const auto& [setup, options] : cases()) {
    double former = std::numeric_limits<double>::infinity();
    for (const double factor : {0.25, 0.5, 1.0, 1.5, 2.0, 4.0, 16.0}) {
      System system = a100();
      for (Tier& tier : system.fabric.tiers) tier.bytes_per_second *= factor;
      const double seconds = simulate(system, setup, options).seconds;
      EXPECT_LE(seconds, former * (1 + 1e-12)) << "case " << number << ", factor " << factor;
      former = seconds;
    }
    ++number;
  }
}

TEST(StepSimulation, OneReplicaStandsForAll) {
  for (const PipelineKind schedule : {PipelineKind::k1F1B, PipelineKind::kDualPipe}) {
    for (const bool overlap : {false, true}) {
      TrainingSetup setup = gpt(2, 4, 4);
      setup.schedule = schedule;
      setup.overlap_gradients = overlap;
      const StepReport one = simulate(a100(), setup);
      const StepReport each = simulate(a100(), setup, {.each_replica = true});
      EXPECT_EQ(each.devices.size(), 4 * one.devices.size());
      EXPECT_NEAR(each.seconds, one.seconds, 1e-12 * one.seconds);
    }
  }
}

TEST(StepSimulation, KeepsAsManyActivationsAsTheScheduleSays) {
  TrainingSetup setup = gpt(1, 4, 1);
  const auto activations = [&](std::size_t device) {
    return simulate(a100(), setup)
        .devices[device]
        .peak_bytes[static_cast<std::size_t>(MemoryKind::kActivations)];
  };
  const double stage = 4 * layer_activation_bytes(setup);
  const double first = stage + embedding_activation_bytes(setup);
  EXPECT_DOUBLE_EQ(activations(0), 4 * first);
  EXPECT_DOUBLE_EQ(activations(1), 3 * stage);
  setup.schedule = PipelineKind::kGpipe;
  EXPECT_DOUBLE_EQ(activations(0), 16 * first);
}

TEST(StepSimulation, DividesStateAsZeroSays) {
  const TrainingSetup setup = gpt(1, 1, 8);
  const auto peak = [&](std::int64_t zero) {
    return simulate(a100(), setup, {.zero = zero}).devices[0];
  };
  const double parameters = setup.model_parameters();
  const auto of = [](const DeviceReport& device, MemoryKind kind) {
    return device.peak_bytes[static_cast<std::size_t>(kind)];
  };
  EXPECT_DOUBLE_EQ(of(peak(0), MemoryKind::kOptimizer), 12 * parameters);
  EXPECT_DOUBLE_EQ(of(peak(1), MemoryKind::kOptimizer), 12 * parameters / 8);
  EXPECT_DOUBLE_EQ(of(peak(1), MemoryKind::kGradients), 4 * parameters);
  EXPECT_DOUBLE_EQ(of(peak(2), MemoryKind::kGradients), 4 * parameters / 8);
  // With a shard, and one or two gathered layers.
  EXPECT_GE(of(peak(3), MemoryKind::kWeights), 2 * parameters / 8);
  EXPECT_LE(of(peak(3), MemoryKind::kWeights), 2 * parameters / 8 + 2 * 2 * parameters / 5);
}

// The closed form of ZeRO, beside the simulation.
TEST(StepSimulation, AgreesWithTheClosedFormOfZero) {
  TrainingSetup experts = gpt(2, 1, 8);
  experts.sequence_parallel = true;
  experts.experts = 16;
  experts.expert_parallel = 4;
  experts.expert_tensor = 1;
  for (TrainingSetup setup : {gpt(1, 1, 8), gpt(2, 1, 16), gpt(1, 2, 4), gpt(1, 4, 8), experts}) {
    for (const bool overlap : {false, true}) {
      setup.overlap_gradients = overlap;
      for (const std::int64_t zero : {1, 2, 3}) {
        const StepReport report = simulate(a100(), setup, {.zero = zero, .fragmentation = 0});
        const auto estimate = estimate_step(a100(), setup, zero);
        ASSERT_TRUE(estimate.ok()) << estimate.status().message();
        const std::string what = "pp " + std::to_string(setup.pipeline) + ", dp " +
                                 std::to_string(setup.data) + ", zero " + std::to_string(zero) +
                                 (overlap ? ", overlapped" : "");
        EXPECT_NEAR(estimate->seconds / report.seconds, 1, zero == 3 ? 0.06 : 0.04) << what;
        const auto of = [&](MemoryKind kind) {
          return report.devices[0].peak_bytes[static_cast<std::size_t>(kind)];
        };
        const StageBytes& bytes = estimate->stages[0];
        EXPECT_NEAR(bytes.gradients / of(MemoryKind::kGradients), 1, 1e-12) << what;
        EXPECT_NEAR(bytes.optimizer / of(MemoryKind::kOptimizer), 1, 1e-12) << what;
        EXPECT_NEAR(bytes.weights / of(MemoryKind::kWeights), 1, zero == 3 ? 0.15 : 1e-12) << what;
      }
    }
  }
}

TEST(StepEstimate, RefusesZeroWhereItHasNoForm) {
  TrainingSetup setup = gpt(1, 4, 2);
  setup.schedule = PipelineKind::kZbH1;
  EXPECT_TRUE(estimate_step(a100(), setup, 1).ok());
  EXPECT_THAT(estimate_step(a100(), setup, 2).status().message(), HasSubstr("1f1b and gpipe"));
  setup.frozen = true;
  EXPECT_THAT(estimate_step(a100(), setup, 1).status().message(), HasSubstr("--frozen"));
}

TEST(StepSimulation, PrefetchHidesTheGatheringOfWeights) {
  const auto exposed = [](std::int64_t prefetch) {
    TrainingSetup setup = gpt(1, 1, 8);
    setup.overlap_gradients = true;
    return use_of(simulate(a100(), setup, {.zero = 3, .prefetch = prefetch}).seconds_by_use,
                  TimeUse::kExposed);
  };
  EXPECT_LT(exposed(1), 0.7 * exposed(0));
}

TEST(StepSimulation, OverlapHidesTheExchangeOfGradients) {
  TrainingSetup setup = gpt(1, 1, 8);
  const double blocking = use_of(simulate(a100(), setup).seconds_by_use, TimeUse::kExposed);
  setup.overlap_gradients = true;
  const double hidden = use_of(simulate(a100(), setup).seconds_by_use, TimeUse::kExposed);
  EXPECT_LT(hidden, 0.8 * blocking);
}

TEST(StepSimulation, OffloadTradesMemoryForTime) {
  TrainingSetup setup = gpt(1, 1, 1);
  const StepReport kept = simulate(a100(), setup);
  const StepReport copied =
      simulate(a100(), setup, {.offload = Offload::kActivations, .host_bandwidth = 1e9});
  EXPECT_GT(copied.seconds, kept.seconds);
  const StepReport elsewhere = simulate(a100(), setup, {.offload = Offload::kOptimizer});
  EXPECT_LT(elsewhere.fullest().peak_total_bytes, 0.6 * kept.fullest().peak_total_bytes);
  // What leaves the device is held by the host.
  const double state = kept.devices[0].peak_bytes[static_cast<std::size_t>(MemoryKind::kOptimizer)];
  EXPECT_EQ(kept.devices[0].host_peak_bytes, 0);
  EXPECT_EQ(elsewhere.devices[0].host_peak_bytes, state);
  EXPECT_GT(copied.devices[0].host_peak_bytes, 0);
}

// State on disks needs no memory of the host; it is read and written while the host updates.
TEST(StepSimulation, DisksTakeTheTimeOfReadingTheState) {
  const TrainingSetup setup = gpt(1, 1, 1);
  const StepReport in_memory = simulate(a100(), setup, {.offload = Offload::kOptimizer});
  const auto on_disk = [&](double bandwidth) {
    return simulate(a100(), setup, {.offload = Offload::kDisk, .disk_bandwidth = bandwidth});
  };
  const double state = in_memory.devices[0].host_peak_bytes;
  EXPECT_EQ(on_disk(1e9).devices[0].host_peak_bytes, 0);
  EXPECT_NEAR(on_disk(1e9).seconds - on_disk(2e9).seconds, state / 2e9, 1e-9);
  EXPECT_DOUBLE_EQ(on_disk(1e13).seconds, in_memory.seconds);
  // Activations travel at the rate of the link or the disk, whichever is slower.
  const auto activations = [&](Offload where, double link, double disk) {
    return simulate(a100(), setup,
                    {.offload = where, .host_bandwidth = link, .disk_bandwidth = disk});
  };
  const StepReport slow = activations(Offload::kActivationsDisk, 1e13, 1e9);
  EXPECT_DOUBLE_EQ(slow.seconds, activations(Offload::kActivations, 1e9, 1e13).seconds);
  EXPECT_DOUBLE_EQ(slow.seconds, activations(Offload::kActivationsDisk, 1e9, 1e13).seconds);
  EXPECT_EQ(slow.devices[0].host_peak_bytes, 0);
}

// Weights come to the device twice a micro-batch, and gradients leave it once; the host has all
// state, and the device two layers of it.
TEST(StepSimulation, WeightsComeFromTheHostLayerByLayer) {
  const TrainingSetup setup = gpt(1, 1, 1);
  const StepReport kept = simulate(a100(), setup);
  const StepReport there = simulate(a100(), setup, {.offload = Offload::kWeights});
  const auto peak = [](const StepReport& report, MemoryKind kind) {
    return report.devices[0].peak_bytes[static_cast<std::size_t>(kind)];
  };
  const double parameters = peak(kept, MemoryKind::kWeights) / setup.weight_bytes();
  EXPECT_DOUBLE_EQ(there.devices[0].host_peak_bytes, peak(kept, MemoryKind::kWeights) +
                                                         peak(kept, MemoryKind::kGradients) +
                                                         peak(kept, MemoryKind::kOptimizer));
  EXPECT_LT(there.fullest().peak_total_bytes, 0.6 * kept.fullest().peak_total_bytes);
  // A slow link: the step takes what all weights and gradients take over it, but for the first
  // layer's weights and the last one's gradients, and then the host's update.
  const double slow = 1e8;
  const StepOptions options{.offload = Offload::kWeights, .host_bandwidth = slow};
  const StepReport far = simulate(a100(), setup, options);
  const auto micro_batches = static_cast<double>(setup.micro_batches());
  const double in = micro_batches * parameters * 2 * setup.weight_bytes() / slow;
  const double out = micro_batches * parameters * static_cast<double>(setup.gradient_bytes) / slow;
  const double update = host_update_s(setup, options, options.offload, parameters);
  EXPECT_GE(far.seconds, std::max(in, out) + update);
  EXPECT_LT(far.seconds, in + out + update + 2 * kept.seconds);
  EXPECT_NEAR(far.devices[0].part_s[static_cast<std::size_t>(StepPart::kOffload)], in + out,
              1e-6 * (in + out));
  // Disks are slower than the link, and hold everything.
  const StepReport disks =
      simulate(a100(), setup, {.offload = Offload::kWeightsDisk, .disk_bandwidth = slow});
  EXPECT_EQ(disks.devices[0].host_peak_bytes, 0);
  EXPECT_GT(disks.seconds, far.seconds);
}

TEST(StepSimulation, RanksThatHaveTheSameWeightsDivideThemOnTheHost) {
  const TrainingSetup setup = gpt(1, 1, 4);
  const StepReport divided = simulate(a100(), setup, {.zero = 3, .offload = Offload::kWeights});
  const StepReport alone = simulate(a100(), gpt(1, 1, 1), {.offload = Offload::kWeights});
  EXPECT_NEAR(divided.devices[0].host_peak_bytes, alone.devices[0].host_peak_bytes / 4,
              1e-9 * alone.devices[0].host_peak_bytes);
  const System system = a100();
  for (const StepOptions& wrong : {StepOptions{.offload = Offload::kWeights},
                                   StepOptions{.zero = 2, .offload = Offload::kWeightsDisk}})
    EXPECT_EQ(make_step_program(system, setup, wrong).status().code(), base::StatusCode::kUsage);
}

// The last rank under 1F1B reads backward what it has just made: its layers leave and return one by
// one, so it waits for copies no longer than the others do.
TEST(StepSimulation, OffloadDoesNotStallTheLastRank) {
  TrainingSetup setup = gpt(1, 4, 1);
  setup.layers = 32;
  const double bandwidth = 2e11;  // a layer is copied faster than computed
  const StepReport kept = simulate(a100(), setup);
  const StepReport copied =
      simulate(a100(), setup, {.offload = Offload::kActivations, .host_bandwidth = bandwidth});
  EXPECT_LT(copied.seconds, 1.2 * kept.seconds);
  const auto activations = [](const StepReport& report, std::size_t rank) {
    return report.devices[rank].peak_bytes[static_cast<std::size_t>(MemoryKind::kActivations)];
  };
  EXPECT_LT(activations(copied, 3), 0.8 * activations(kept, 3));
  const auto exposed = [&](std::size_t rank) {
    return use_of(copied.devices[rank].seconds, TimeUse::kExposed);
  };
  EXPECT_LT(exposed(3), 1.2 * exposed(0));
  // Of each of its micro-batches, all layers but the last ones travel both ways.
  const double there_and_back =
      copied.devices[3].part_s[static_cast<std::size_t>(StepPart::kOffload)];
  EXPECT_NEAR(there_and_back, 2 * 16 * 6 * layer_activation_bytes(setup) / bandwidth,
              1e-6 * there_and_back);
}

// Under ZeRO-2 and 3 as under the others, gradients travel beside computation only if asked for.
TEST(StepSimulation, GradientsOverlapOnlyWithTheFlag) {
  for (const std::int64_t zero : {0, 1, 2, 3}) {
    TrainingSetup setup = gpt(1, 1, 8);
    const StepReport blocking = simulate(a100(), setup, {.zero = zero});
    setup.overlap_gradients = true;
    const StepReport hidden = simulate(a100(), setup, {.zero = zero});
    EXPECT_LT(hidden.seconds, blocking.seconds) << zero;
    EXPECT_LT(use_of(hidden.seconds_by_use, TimeUse::kExposed),
              use_of(blocking.seconds_by_use, TimeUse::kExposed))
        << zero;
    // Nothing slows computation down where nothing runs beside it.
    if (zero < 3) {
      EXPECT_NEAR(use_of(blocking.seconds_by_use, TimeUse::kSlowdown), 0, 1e-9) << zero;
    }
    EXPECT_GT(use_of(hidden.seconds_by_use, TimeUse::kSlowdown), 0) << zero;
  }
}

TEST(StepSimulation, ZeroBubbleSchedulesIdleLess) {
  TrainingSetup setup = gpt(1, 4, 1);
  setup.layers = 64;  // the embedding and the output layer weigh little
  const auto bubble = [&](PipelineKind schedule) {
    setup.schedule = schedule;
    return use_of(simulate(a100(), setup).seconds_by_use, TimeUse::kBubble);
  };
  EXPECT_LT(bubble(PipelineKind::kZbH1), 0.7 * bubble(PipelineKind::k1F1B));
}

TEST(StepSimulation, RandomStepsHaveADistribution) {
  const TrainingSetup setup = gpt(2, 4, 2);
  const StepReport sure = simulate(a100(), setup, {.trials = 5});
  EXPECT_DOUBLE_EQ(sure.distribution.mean, sure.seconds);
  EXPECT_NEAR(sure.distribution.deviation, 0, 1e-6 * sure.seconds);
  StepOptions options{.jitter = 0.05, .trials = 200};
  const Distribution jitter = simulate(a100(), setup, options).distribution;
  EXPECT_GT(jitter.mean, sure.seconds);
  EXPECT_GT(jitter.p95, jitter.p50);
  EXPECT_GE(jitter.most, jitter.p95);
  EXPECT_EQ(simulate(a100(), setup, options).distribution.mean, jitter.mean);
  // One replica stands for all; the slowest of two is as in a simulation of both.
  options.each_replica = true;
  const Distribution both = simulate(a100(), setup, options).distribution;
  EXPECT_NEAR(both.mean, jitter.mean, 0.003 * jitter.mean);
  EXPECT_NEAR(both.p95, jitter.p95, 0.01 * jitter.p95);
  const Distribution slow =
      simulate(a100(), setup, {.straggler_share = 1, .straggler_slowdown = 1.5, .trials = 3})
          .distribution;
  EXPECT_GT(slow.mean, 1.3 * sure.seconds);
}

// The most of 1,024 independent normals is 3.2472 deviations above the mean (by integration of
// x d(Phi(x)^1024)). Both passes of the only micro-batch wait for the slowest of as many ranks.
TEST(StepSimulation, TheSlowestOfManyRanksIsAsSlowAsTheirDistributionSays) {
  TrainingSetup setup = gpt(1, 1, 1);
  setup.global_batch = 1;
  setup.context = 1024;
  const StepOptions options{.recorded_launches = true, .jitter = 0.1, .trials = 2000};
  const StepReport report = simulate(a100(), setup, options);
  const auto& parts = report.devices[0].part_s;
  const double passes = parts[static_cast<std::size_t>(StepPart::kForward)] +
                        parts[static_cast<std::size_t>(StepPart::kBackward)];
  EXPECT_NEAR((report.distribution.mean - report.seconds) / (0.1 * passes), 3.2472, 0.03);
}

TEST(StepSimulation, RefusesWhatCannotBe) {
  TrainingSetup setup = gpt(1, 4, 1);
  const auto message = [&](const StepOptions& options = {}) {
    return simulate_step(a100(), setup, options).status().message();
  };
  EXPECT_THAT(message({.jitter = 0.1}), HasSubstr("--trials"));
  EXPECT_THAT(message({.forward_only = true, .zero = 1}), HasSubstr("--forward-only"));
  setup.global_batch = 1 << 24;
  EXPECT_THAT(message(), HasSubstr("more than 1500000 tasks"));
  setup.global_batch = 6;
  setup.schedule = PipelineKind::kDualPipe;
  EXPECT_THAT(message(), HasSubstr("twice as many"));
  const auto on = [](const System& system, const TrainingSetup& step) {
    return simulate_step(system, step).status().message();
  };
  EXPECT_THAT(on(system_called("p3-16xlarge-8").value(), gpt(8, 4, 4)),
              HasSubstr("needs 128 devices, and p3-16xlarge-8 has 64"));
  setup = gpt(1, 2, 1);
  setup.stage_first = "0,64";  // the last is the 65th
  EXPECT_THAT(on(system_called("p3-16xlarge-8").value(), setup), HasSubstr("needs 65 devices"));
  System bf16 = a100();
  bf16.accelerator.peak_flops_per_second = {0, 0, 0, 3e14, 0, 0};
  setup = gpt(1, 2, 1);
  EXPECT_THAT(on(bf16, setup), HasSubstr("no peak for --train-precision f16"));
  setup.precision = Precision::kBf16;
  EXPECT_EQ(on(bf16, setup), "");
}

}  // namespace
}  // namespace egret::parallel
