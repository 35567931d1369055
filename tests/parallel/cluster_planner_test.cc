// SPDX-License-Identifier: Apache-2.0
// Plans of transformers on clusters, against enumeration and against bounds.
#include "parallel/cluster_plan/cluster_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>

#include "base/random.h"
#include "base/stop.h"
#include "parallel/cluster_plan/cluster_plan_file.h"
#include "parallel/cluster_plan/layer_moves.h"
#include "parallel/cluster_plan/plan_trials.h"
#include "tests/parallel/cluster_plans.h"

namespace egret::parallel {
namespace {

using ::testing::HasSubstr;

// All ways to write TOTAL as a sum of PARTS numbers from LEAST to MOST.
void compositions(std::int64_t total, std::int64_t parts, std::int64_t least, std::int64_t most,
                  std::vector<std::int64_t>& sofar,
                  const std::function<void(const std::vector<std::int64_t>&)>& visit) {
  if (parts == 0) {
    if (total == 0) visit(sofar);
    return;
  }
  for (std::int64_t one = least; one <= std::min(most, total); ++one) {
    sofar.push_back(one);
    compositions(total - one, parts - 1, least, most, sofar, visit);
    sofar.pop_back();
  }
}

// All recomputations of these chunks: each chunk's layers are kept, or recomputed in part.
void recomputations(const std::vector<std::int64_t>& layers, std::vector<ChunkLayers>& sofar,
                    const std::function<void(const std::vector<ChunkLayers>&)>& visit) {
  if (sofar.size() == layers.size()) return visit(sofar);
  const std::int64_t all = layers[sofar.size()];
  for (std::int64_t full = 0; full <= all; ++full) {
    for (std::int64_t selective = 0; full + selective <= all; ++selective) {
      sofar.push_back({all - full - selective, selective, full});
      recomputations(layers, sofar, visit);
      sofar.pop_back();
    }
  }
}

// The least simulated time of all plans of the space that fit.
double exhaustive_s(const PlanTrials& trials, const TrainingSetup& setup, std::int64_t devices,
                    const FixedChoices& fixed, std::size_t& simulated) {
  double best = 1e300;
  for (const PlanFrame& frame : all_frames(setup, devices, fixed)) {
    const std::int64_t chunks = frame.pipeline * frame.virtual_stages;
    const bool virtual_stages = frame.virtual_stages > 1;
    const std::int64_t least = virtual_stages ? setup.layers / chunks : 1;
    const std::int64_t most = virtual_stages ? (setup.layers + chunks - 1) / chunks : setup.layers;
    std::vector<std::int64_t> layers;
    compositions(setup.layers, chunks, least, most, layers, [&](const auto& counts) {
      std::vector<ChunkLayers> sofar;
      recomputations(counts, sofar, [&](const std::vector<ChunkLayers>& one) {
        ++simulated;
        const auto step = trials.simulate(frame, one);
        if (step && step->fits()) best = std::min(best, step->seconds);
      });
    });
  }
  return best;
}

TEST(ClusterPlanner, EqualsTheExhaustiveOptimumOnSmallMachines) {
  struct Case {
    std::int64_t layers, hidden, batch, devices;
    double memory_bytes;
  };
  // Memory that is ample, and that forces recomputation, division of state or offload.
  for (const Case& c :
       {Case{3, 1024, 4, 2, 0}, Case{3, 1024, 4, 2, 7.5e8}, Case{3, 2048, 4, 4, 9e8}}) {
    const System system = machine("v100-quad", c.memory_bytes);
    TrainingSetup setup = model(c.layers, c.hidden, c.batch);
    setup.vocabulary = 8192;
    FixedChoices fixed;
    fixed.context = 1;
    const StepOptions step;
    const StagePrices prices(system, setup, step, fixed);
    const PlanTrials trials(prices, c.devices);
    std::size_t simulated = 0;
    const double best = exhaustive_s(trials, setup, c.devices, fixed, simulated);
    const ClusterPlan plan = planned(system, setup, c.devices, fixed);
    EXPECT_LT(best, 1e300);
    EXPECT_GT(simulated, 500U);
    EXPECT_TRUE(plan.best.fits());
    EXPECT_NEAR(plan.best.seconds, best, 1e-9 * best)
        << c.layers << " layers, " << c.devices << " devices, " << c.memory_bytes
        << " bytes: " << to_string(plan.best.frame) << " " << layers_text(plan.best);
    EXPECT_LE(plan.bound_s, best * (1 + 1e-9));
  }
}

// A model whose every INTERVAL-th layer has eight experts.
TrainingSetup mixture(std::int64_t layers, std::int64_t hidden, std::int64_t batch,
                      std::int64_t interval) {
  TrainingSetup setup = model(layers, hidden, batch);
  setup.experts = 8;
  setup.expert_interval = interval;
  setup.expert_ffn = 2 * hidden;
  return setup;
}

TEST(ClusterPlanner, EqualsTheExhaustiveOptimumOfMixturesOfExperts) {
  struct Case {
    std::int64_t layers, interval, devices;
    double memory_bytes;
  };
  // Memory that is ample, and that forces the division of experts or of state.
  for (const Case& c :
       {Case{3, 1, 4, 0}, Case{3, 1, 4, 1.1e9}, Case{4, 2, 2, 0}, Case{4, 2, 2, 1.2e9}}) {
    const System system = machine("v100-quad", c.memory_bytes);
    TrainingSetup setup = mixture(c.layers, 1024, 4, c.interval);
    setup.vocabulary = 8192;
    FixedChoices fixed;
    fixed.context = 1;
    // The memory of offloaded activations is an estimate, so their optimum may be missed.
    if (c.interval == 2 && c.memory_bytes > 0) fixed.offload = Offload::kOptimizer;
    const StepOptions step;
    const StagePrices prices(system, setup, step, fixed);
    const PlanTrials trials(prices, c.devices);
    std::size_t simulated = 0;
    const double best = exhaustive_s(trials, setup, c.devices, fixed, simulated);
    const ClusterPlan plan = planned(system, setup, c.devices, fixed);
    EXPECT_LT(best, 1e300);
    EXPECT_GT(simulated, 100U);
    EXPECT_TRUE(plan.best.fits());
    EXPECT_NEAR(plan.best.seconds, best, 1e-9 * best)
        << "interval " << c.interval << ", " << c.memory_bytes
        << " bytes: " << to_string(plan.best.frame) << " " << layers_text(plan.best);
    EXPECT_LE(plan.bound_s, best * (1 + 1e-9));
  }
}

TEST(ClusterPlanner, HasBoundsBelowAllSimulationsOfMixtures) {
  base::Random random(11);
  std::size_t compared = 0, both_directions = 0, divided = 0;
  for (const bool overlaps : {false, true}) {
    for (const std::int64_t interval : {1, 2}) {
      const System system = machine("dgx-a100", 1e13);
      TrainingSetup setup = mixture(8, 1024, 16, interval);
      setup.overlap_gradients = setup.overlap_transfers = setup.overlap_experts = overlaps;
      const FixedChoices fixed;
      StepOptions step;
      step.recorded_launches = overlaps;
      const StagePrices prices(system, setup, step, fixed);
      const PlanTrials trials(prices, 8);
      FixedChoices dual;
      dual.schedule = PipelineKind::kDualPipe;
      std::vector<PlanFrame> frames = all_frames(setup, 8);
      for (const PlanFrame& frame : all_frames(setup, 8, dual)) {
        if (frame.two_directions()) frames.push_back(frame);
      }
      for (const PlanFrame& frame : frames) {
        if (!random.chance(frame.two_directions() ? 0.5 : 0.04)) continue;
        const auto found = partition_stages(prices, frame);
        ASSERT_TRUE(found) << to_string(frame);
        EXPECT_LE(frame_bound_s(prices, frame), found->bound_s * (1 + 1e-9)) << to_string(frame);
        const auto own = trials.simulate(frame, found->chunks);
        ASSERT_TRUE(own) << to_string(frame);
        EXPECT_LE(found->bound_s, own->seconds * (1 + 1e-9))
            << to_string(frame) << " interval " << interval << " overlaps " << overlaps;
        std::vector<ChunkLayers> other = found->chunks;
        const auto from = static_cast<std::size_t>(random.below(other.size()));
        const auto to = static_cast<std::size_t>(random.below(other.size()));
        if (frame.chunks_of_rank() == 1 && other[from].kept > 1) {
          --other[from].kept;
          ++other[to].kept;
        }
        const auto moved = trials.simulate(frame, other);
        ASSERT_TRUE(moved);
        EXPECT_LE(found->bound_s, moved->seconds * (1 + 1e-9)) << to_string(frame);
        compared += 1;
        both_directions += frame.two_directions() ? 1 : 0;
        divided += frame.expert_parallel > 1 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, 300U);
  EXPECT_GT(both_directions, 10U);
  EXPECT_GT(divided, 100U);
}

TEST(ClusterPlanner, PricesTheMemoryOfMixturesAsTheSimulation) {
  const System system = machine("dgx-a100", 1e13);
  for (const std::int64_t interval : {1, 2}) {
    const TrainingSetup setup = mixture(8, 1024, 16, interval);
    const FixedChoices fixed;
    const StepOptions step;
    const StagePrices prices(system, setup, step, fixed);
    const PlanTrials trials(prices, 8);
    std::size_t compared = 0;
    for (const PlanFrame& frame : all_frames(setup, 8)) {
      // Whose memory does not depend on time.
      if (frame.virtual_stages > 1 || frame.zero > 1 || offloads_activations(frame.offload) ||
          offloads_weights(frame.offload))
        continue;
      const bool two = frame.two_directions();
      if (two ? setup.layers % frame.pipeline != 0 : compared % 7 != 0) {
        ++compared;
        continue;
      }
      const auto found = partition_stages(prices, frame);
      ASSERT_TRUE(found) << to_string(frame);
      const auto own = trials.simulate(frame, found->chunks);
      ASSERT_TRUE(own);
      std::int64_t before = 0;
      for (std::int64_t rank = 0; rank < frame.pipeline / (two ? 2 : 1); ++rank) {
        ChunkLayers layers = found->chunks[static_cast<std::size_t>(rank)];
        const std::int64_t first = before;
        before += layers.all();
        if (two)
          layers.kept += found->chunks[static_cast<std::size_t>(frame.pipeline - 1 - rank)].kept;
        const RankPrice price = prices.rank_with(frame, rank, layers, first);
        EXPECT_NEAR(price.memory_bytes, own->peak_bytes[static_cast<std::size_t>(rank)],
                    (two ? 0.1 : 1e-9) * price.memory_bytes)
            << to_string(frame) << " rank " << rank << " interval " << interval;
      }
      ++compared;
    }
    EXPECT_GT(compared, 100U);
  }
}

TEST(ClusterPlanner, DividesExpertsAndIsNeverWorseThanABaseline) {
  for (const auto& [name, devices, experts] :
       {std::tuple("dgx-h100", 64, 8), {"p3-16xlarge-8", 16, 32}, {"dgx-a100", 32, 64}}) {
    const System system = machine(name);
    TrainingSetup setup = mixture(24, 2048, 128, experts == 32 ? 2 : 1);
    setup.heads = 16;
    setup.experts = experts;
    setup.expert_ffn = 4096;
    const ClusterPlan plan = planned(system, setup, devices);
    EXPECT_TRUE(plan.best.fits()) << name;
    EXPECT_GT(plan.best.frame.expert_parallel, 1) << name << " " << to_string(plan.best.frame);
    EXPECT_GE(plan.baselines.size(), 9U);
    std::size_t fitting = 0;
    for (const PlannedBaseline& baseline : plan.baselines) {
      if (!baseline.exists || !baseline.step.fits()) continue;
      ++fitting;
      EXPECT_LE(plan.best.seconds, baseline.step.seconds) << name << " " << baseline.name;
    }
    EXPECT_GE(fitting, 2U) << name;
    EXPECT_LE(plan.bound_s, plan.best.seconds);
    const auto again = simulate_step(system, plan.setup, plan.options);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->seconds, plan.best.seconds);
  }
}

TEST(ClusterPlanner, KeepsFixedChoicesOfMixtures) {
  FixedChoices fixed;
  fixed.expert_parallel = 4;
  fixed.expert_tensor = 2;
  fixed.tensor = 2;
  fixed.pipeline = 2;
  fixed.schedule = PipelineKind::kDualPipe;
  const TrainingSetup setup = mixture(8, 2048, 32, 1);
  const ClusterPlan plan = planned(machine("dgx-a100"), setup, 16, fixed);
  EXPECT_EQ(plan.best.frame.expert_parallel, 4);
  EXPECT_EQ(plan.best.frame.expert_tensor, 2);
  EXPECT_EQ(plan.best.frame.schedule, PipelineKind::kDualPipe);
  EXPECT_TRUE(plan.best.frame.sequence_parallel);
  fixed.expert_parallel = 3;
  const auto none = plan_cluster({machine("dgx-a100"), setup, {}, fixed}, {.devices = 16});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("no plan exists"));
  const auto dense =
      plan_cluster({machine("dgx-a100"), model(8, 2048, 32), {}, fixed}, {.devices = 16});
  ASSERT_FALSE(dense.ok());
  EXPECT_THAT(dense.status().message(), HasSubstr("need --experts"));
}

TEST(ClusterPlanner, HasBoundsBelowAllSimulations) {
  base::Random random(7);
  std::size_t compared = 0, launched_freely = 0, close = 0;
  for (const bool overlaps : {false, true}) {
    for (const char* name : {"dgx-a100", "v100-quad"}) {
      const System system = machine(name, 1e12);
      TrainingSetup setup = model(7, 1024, 16);
      setup.overlap_gradients = setup.overlap_transfers = overlaps;
      const FixedChoices fixed;
      StepOptions step;
      step.recorded_launches = overlaps;
      const StagePrices prices(system, setup, step, fixed);
      const PlanTrials trials(prices, 8);
      for (const PlanFrame& frame : all_frames(setup, 8)) {
        if (!random.chance(0.1)) continue;
        const auto found = partition_stages(prices, frame);
        ASSERT_TRUE(found) << to_string(frame);
        EXPECT_LE(frame_bound_s(prices, frame), found->bound_s * (1 + 1e-9)) << to_string(frame);
        const auto own = trials.simulate(frame, found->chunks);
        ASSERT_TRUE(own) << to_string(frame);
        EXPECT_LE(found->bound_s, own->seconds * (1 + 1e-9)) << to_string(frame);
        // Another division of the layers cannot be below it either.
        std::vector<ChunkLayers> other = found->chunks;
        const auto from = static_cast<std::size_t>(random.below(other.size()));
        const auto to = static_cast<std::size_t>(random.below(other.size()));
        if (frame.virtual_stages == 1 && other[from].kept > 1) {
          --other[from].kept;
          ++other[to].kept;
        }
        const auto moved = trials.simulate(frame, other);
        ASSERT_TRUE(moved);
        EXPECT_LE(found->bound_s, moved->seconds * (1 + 1e-9)) << to_string(frame);
        compared += 1;
        if (!overlaps) continue;
        launched_freely += 1;
        close += own->seconds < 1.1 * found->bound_s ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, 300U);
  EXPECT_GT(close, launched_freely / 2);
}

TEST(ClusterPlanner, IsNeverWorseThanABaselineAndFits) {
  for (const auto& [name, devices] :
       {std::pair("v100-quad", 16), {"dgx-a100", 32}, {"p3-16xlarge-8", 64}, {"dgx-h100", 12}}) {
    const System system = machine(name);
    TrainingSetup setup = model(24, 4096, 128);
    setup.heads = 32;
    const ClusterPlan plan = planned(system, setup, devices);
    EXPECT_TRUE(plan.best.fits()) << name;
    EXPECT_GE(plan.baselines.size(), 7U);
    std::size_t fitting = 0;
    for (const PlannedBaseline& baseline : plan.baselines) {
      if (!baseline.exists || !baseline.step.fits()) continue;
      ++fitting;
      EXPECT_LE(plan.best.seconds, baseline.step.seconds) << name << " " << baseline.name;
    }
    EXPECT_GE(fitting, 2U) << name;
    EXPECT_LE(plan.bound_s, plan.best.seconds);
    EXPECT_LT(plan.gap(), 0.1) << name;
    EXPECT_EQ(plan.stop_reason, "bound");
    for (std::size_t rank = 0; rank < plan.best.peak_bytes.size(); ++rank)
      EXPECT_LE(plan.best.peak_bytes[rank], system.accelerator.memory_bytes);
    // The reported step is the simulated one.
    const auto again = simulate_step(system, plan.setup, plan.options);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->seconds, plan.best.seconds);
    EXPECT_EQ(again->fullest().peak_total_bytes, plan.best.most_bytes());
  }
}

TEST(ClusterPlanner, MarksBaselinesThatDoNotFit) {
  TrainingSetup setup = model(24, 4096, 64);
  setup.heads = 32;
  const ClusterPlan plan = planned(machine("v100-quad"), setup, 16);
  const auto data = std::ranges::find(plan.baselines, "data", &PlannedBaseline::name);
  ASSERT_NE(data, plan.baselines.end());
  EXPECT_TRUE(data->exists);
  EXPECT_FALSE(data->step.fits());
  EXPECT_GT(data->step.most_bytes(), 16e9);
}

TEST(ClusterPlanner, ReportsThePlanNearestToMemoryWhereNoneFits) {
  const ClusterPlan plan = planned(machine("v100-quad", 1e8), model(4, 2048, 8), 4);
  EXPECT_FALSE(plan.best.fits());
  EXPECT_GT(plan.best.most_bytes(), 1e8);
}

TEST(ClusterPlanner, IsDeterministic) {
  TrainingSetup setup = model(16, 2048, 64);
  setup.heads = 16;
  const System system = machine("v100-quad");
  const ClusterPlan first = planned(system, setup, 16), second = planned(system, setup, 16);
  EXPECT_EQ(to_toml(first, "m"), to_toml(second, "m"));
  EXPECT_EQ(first.counts.simulations, second.counts.simulations);
  ASSERT_EQ(first.ranking.size(), second.ranking.size());
  for (std::size_t i = 0; i < first.ranking.size(); ++i)
    EXPECT_EQ(first.ranking[i].seconds, second.ranking[i].seconds);
}

TEST(ClusterPlanner, KeepsFixedChoices) {
  FixedChoices fixed;
  fixed.tensor = 2;
  fixed.pipeline = 2;
  fixed.zero = 3;
  fixed.recompute = Recompute::kFull;
  const ClusterPlan plan = planned(machine("dgx-a100"), model(8, 2048, 16), 8, fixed);
  EXPECT_EQ(plan.best.frame.tensor, 2);
  EXPECT_EQ(plan.best.frame.pipeline, 2);
  EXPECT_EQ(plan.best.frame.zero, 3);
  EXPECT_EQ(recomputation_text(plan.best), "full");
  fixed.tensor = 3;
  const StepOptions step;
  const TrainingSetup setup = model(8, 2048, 16);
  const System system = machine("dgx-a100");
  const auto none = plan_cluster({system, setup, step, fixed}, {.devices = 8});
  EXPECT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("no plan exists"));
}

TEST(ClusterPlanner, GivesSlowDevicesFewerLayers) {
  System system = machine("v100-quad");
  Accelerator slow = system.accelerator;
  for (double& peak : slow.peak_flops_per_second) peak /= 3;
  slow.bytes_per_second /= 3;
  system.pools = {{system.accelerator, 4}, {slow, 0}};
  FixedChoices fixed;
  fixed.tensor = 4;
  fixed.pipeline = 2;
  fixed.virtual_stages = 1;
  const ClusterPlan plan = planned(system, model(16, 2048, 32), 8, fixed);
  ASSERT_EQ(plan.best.chunks.size(), 2U);
  EXPECT_GE(plan.best.chunks[0].all(), 2 * plan.best.chunks[1].all());
}

TEST(ClusterPlanner, ExplainsEachChoiceByItsRunnerUp) {
  TrainingSetup setup = model(8, 4096, 32);
  setup.heads = 32;
  const ClusterPlan plan = planned(machine("v100-quad"), setup, 8, {}, /*explain=*/true);
  std::size_t degrees = 0;
  for (const ChoiceRunnerUp& one : plan.runners_up) {
    EXPECT_NE(one.value, one.other) << one.choice;
    if (one.step.fits()) {
      EXPECT_GE(one.step.seconds, plan.best.seconds * (1 - 1e-9)) << one.choice;
    }
    degrees += one.choice == "tp" || one.choice == "pp" || one.choice == "dp" ? 1 : 0;
  }
  EXPECT_EQ(degrees, 3U);
}

// Asks for a stop when a phase begins to report.
class StoppingSink final : public base::ProgressSink {
 public:
  explicit StoppingSink(std::string phase) : phase_(std::move(phase)) {}
  void begin_phase(std::string_view phase) override {
    if (phase == phase_) base::request_stop(SIGTERM);
  }
  bool due() override { return false; }
  void report(const base::ProgressReport&) override {}
  void end_phase(std::string_view, double) override {}

 private:
  std::string phase_;
};

TEST(ClusterPlanner, StopsOnSignals) {
  const System system = machine("dgx-h100");
  TrainingSetup setup = model(32, 4096, 512);
  setup.heads = 32;
  for (const char* phase : {"baselines", "frames", "simulations"}) {
    StoppingSink sink(phase);
    const auto plan = plan_cluster({system, setup, {}, {}}, {.devices = 64}, true, &sink);
    base::request_stop(0);
    if (plan.ok()) {
      EXPECT_EQ(plan->stop_reason, "signal") << phase;
    } else {
      EXPECT_EQ(plan.status().code(), base::StatusCode::kLimit) << phase;
    }
  }
}

TEST(StagePrices, ChooseTheLeastRecomputationThatFits) {
  const System system = machine("v100-quad");
  TrainingSetup setup = model(12, 2048, 16);
  setup.heads = 16;
  const StepOptions step;
  const FixedChoices fixed;
  const StagePrices prices(system, setup, step, fixed);
  PlanFrame frame;
  frame.tensor = 2;
  frame.pipeline = 2;
  frame.data = 1;
  const double whole = prices.rank(frame, 0, 6, 1e15)->memory_bytes;
  const double least = prices.least_memory(frame, 0, 6);
  ASSERT_LT(least, whole);
  EXPECT_FALSE(prices.rank(frame, 0, 6, least * 0.999));
  for (int i = 0; i <= 20; ++i) {
    const double budget = least + (whole - least) * i / 20;
    const auto chosen = prices.rank(frame, 0, 6, budget);
    ASSERT_TRUE(chosen);
    EXPECT_LE(chosen->memory_bytes, budget);
    // No combination that fits is faster.
    double best = 1e300;
    for (std::int64_t full = 0; full <= 6; ++full) {
      for (std::int64_t selective = 0; full + selective <= 6; ++selective) {
        const auto one = prices.rank_with(frame, 0, {6 - full - selective, selective, full});
        if (one.memory_bytes <= budget)
          best = std::min(best, (one.forward + one.backward).seconds());
      }
    }
    EXPECT_EQ((chosen->forward + chosen->backward).seconds(), best) << i;
  }
}

TEST(TrainingSetup, TakesLayersOfStages) {
  TrainingSetup setup = model(8, 1024, 8);
  setup.pipeline = 3;
  setup.stage_layers = "2,4,2";
  setup.full_layers = "1,0,2";
  ASSERT_TRUE(setup.check().ok());
  const std::vector<ChunkLayers> chunks = setup.chunks_by_recomputation();
  EXPECT_EQ(chunks[0], (ChunkLayers{1, 0, 1}));
  EXPECT_EQ(chunks[1], (ChunkLayers{4, 0, 0}));
  TrainingSetup copy = model(8, 1024, 8);
  copy.pipeline = 3;
  copy.set_chunks(chunks);
  EXPECT_EQ(copy.stage_layers, "2,4,2");
  EXPECT_EQ(copy.full_layers, "1,0,2");
  EXPECT_EQ(copy.selective_layers, "");
  for (const auto& [layers, full, message] : {std::tuple("2,4", "", "each of the 3 chunks"),
                                              {"2,4,3", "", "must sum"},
                                              {"0,4,4", "", "at least 1"},
                                              {"2,4,x", "", "each of the 3"},
                                              {"2,4,2,", "", "each of"},
                                              {"2,4,2", "3,0,0", "exceed"}}) {
    setup.stage_layers = layers;
    setup.full_layers = full;
    EXPECT_THAT(setup.check().message(), HasSubstr(message)) << layers << " " << full;
  }
  setup.stage_layers = setup.full_layers = "";
  setup.selective_layers = "1,1,1";
  setup.recompute = Recompute::kFull;
  EXPECT_THAT(setup.check().message(), HasSubstr("--recompute cannot be combined"));
}

}  // namespace
}  // namespace egret::parallel
