// SPDX-License-Identifier: Apache-2.0
// Plans of generation with offload, against grids of fractions, enumeration and the simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/random.h"
#include "base/stop.h"
#include "extract/milp/milp.h"
#include "parallel/offload/generation_kernels.h"
#include "parallel/offload/generation_simulation.h"
#include "parallel/offload/offload_plan_file.h"
#include "parallel/offload/offload_planner.h"
#include "parallel/offload/offload_rules.h"
#include "parallel/offload/placement_program.h"

#define SKIP_WITHOUT_SOLVER() \
  if (::egret::extract::milp_solvers().empty()) GTEST_SKIP() << "no solver of linear programs"

namespace egret::parallel {
namespace {

using ::testing::HasSubstr;

HostedSystem machine() { return hosted_system_called("t4-flexgen").value(); }

// A machine on which a small model exceeds the accelerator.
HostedSystem small_machine(double device_bytes, double host_bytes, double disk_bytes) {
  HostedSystem system = machine();
  system.accelerator.memory_bytes = device_bytes;
  system.accelerator.reserved_bytes = 0;
  system.host.value().memory_bytes = host_bytes;
  system.host.value().reserved_bytes = 0;
  system.host.value().disk_bytes = disk_bytes;
  return system;
}

GenerationSetup small_model() {
  GenerationSetup setup;
  setup.layers = 6;
  setup.hidden = 1024;
  setup.heads = 16;
  setup.vocabulary = 8192;
  setup.prompt = 128;
  setup.output_tokens = 8;
  return setup;
}

GenerationSetup opt_30b() {
  GenerationSetup setup;
  setup.layers = 48;
  setup.hidden = 7168;
  setup.heads = 56;
  setup.vocabulary = 50272;
  setup.prompt = 512;
  setup.output_tokens = 32;
  return setup;
}

OffloadPlan planned(const HostedSystem& system, const GenerationSetup& setup,
                    bool explain = false) {
  auto plan = plan_offload(system, setup, {}, explain);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? *std::move(plan) : OffloadPlan{};
}

// All parts in steps of 1 / STEPS that sum to 1.
std::vector<std::array<double, 3>> grid_parts(int steps) {
  std::vector<std::array<double, 3>> all;
  for (int a = 0; a <= steps; ++a) {
    for (int b = 0; a + b <= steps; ++b) {
      all.push_back({static_cast<double>(a) / steps, static_cast<double>(b) / steps,
                     static_cast<double>(steps - a - b) / steps});
    }
  }
  return all;
}

// The least time on a grid of fractions, without the program.
double least_on_grid(const BlockCosts& costs, int steps, double memory_scale) {
  double least = std::numeric_limits<double>::infinity();
  BlockCosts scaled = costs;
  for (MemoryRow& row : scaled.memory) row.limit *= memory_scale;
  for (const auto& w : grid_parts(steps)) {
    for (const auto& c : grid_parts(steps)) {
      for (const auto& a : grid_parts(steps)) {
        Fractions fractions;
        fractions.set(Value::kWeights, w[0], w[1], w[2]);
        fractions.set(Value::kCache, c[0], c[1], c[2]);
        fractions.set(Value::kActivations, a[0], a[1], a[2]);
        if (scaled.fits(fractions)) least = std::min(least, scaled.seconds(fractions));
      }
    }
  }
  return least;
}

TEST(OffloadProgram, IsAsGoodAsAGridOfFractions) {
  SKIP_WITHOUT_SOLVER();
  PlacementProgram program = PlacementProgram::make().value();
  int solved = 0, binding = 0;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    base::Random random(seed);
    const HostedSystem system =
        small_machine(random.uniform(4e7, 4e8), random.uniform(5e7, 6e8), 1e10);
    const GenerationSetup setup = small_model();
    const BlockChoice choice{random.between(1, 16), random.between(1, 6), random.chance(0.5)};
    const BlockCosts costs = block_costs(system, setup, choice);
    const auto answer = program.solve(costs, {}, true);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    const double on_grid = least_on_grid(costs, 8, 1);
    if (!answer->has_value()) {
      EXPECT_EQ(on_grid, std::numeric_limits<double>::infinity()) << seed;
      continue;
    }
    ++solved;
    const PlacementAnswer& found = **answer;
    EXPECT_TRUE(costs.fits(found.fractions)) << seed;
    // No point of the grid is better, and the answer is what it says.
    EXPECT_LE(found.least_s, on_grid * (1 + 1e-7)) << seed;
    EXPECT_LE(costs.seconds(found.fractions), found.least_s * (1 + 2e-4)) << seed;
    // Fractions differ from the grid's by less than a step, so more memory by a step of all values
    // suffices for a point of the grid that is nearly as good.
    if (on_grid < std::numeric_limits<double>::infinity()) {
      EXPECT_GE(found.least_s, least_on_grid(costs, 8, 2.5) * 0.5) << seed;
    }
    if (found.fractions.at(Value::kWeights, Place::kDevice) < 1) ++binding;
  }
  EXPECT_GE(solved, 16);
  EXPECT_GE(binding, 4);
}

TEST(OffloadProgram, KeepsGivenPartsAndForbiddenPlaces) {
  SKIP_WITHOUT_SOLVER();
  PlacementProgram program = PlacementProgram::make().value();
  const HostedSystem system = small_machine(3e8, 1e9, 1e10);
  const BlockCosts costs = block_costs(system, small_model(), {4, 2, false});
  GivenParts given;
  given.weights = {0.25, 0.5, 0.25};
  const auto kept = program.solve(costs, given, true).value();
  ASSERT_TRUE(kept.has_value());
  EXPECT_NEAR(kept->fractions.at(Value::kWeights, Place::kDisk), 0.25, 1e-9);
  EXPECT_FALSE(program.solve(costs, given, false).value().has_value());  // no disk
  GivenParts without;
  without.forbidden[index_of(Value::kCache, Place::kDevice)] = true;
  EXPECT_EQ(
      program.solve(costs, without, true).value()->fractions.at(Value::kCache, Place::kDevice), 0);
}

TEST(OffloadPlacement, DealsWholeTensorsEvenlyAndKeepsTheMemory) {
  const GenerationSetup setup = small_model();
  const BlockSizes sizes(setup);
  const HostedSystem system = small_machine(2e8, 2e8, 1e10);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    base::Random random(seed);
    Fractions fractions;
    for (const Value value : kValues) {
      const double device = random.unit(), host = (1 - device) * random.unit();
      fractions.set(value, device, host, 1 - device - host);
    }
    const BlockChoice choice{random.between(1, 8), random.between(1, 5), random.chance(0.5)};
    const BlockCosts costs = block_costs(system, setup, choice);
    const auto placement = round_placement(costs, setup, choice, fractions, true);
    if (!placement) continue;
    ASSERT_EQ(placement->layers.size(), 7U);
    for (std::size_t i = 0; i < 7; ++i) {
      const auto& bytes = placement->layers[i];
      EXPECT_NEAR(bytes[0] + bytes[1] + bytes[2], i < 6 ? sizes.layer_bytes : sizes.head_bytes, 1);
    }
    EXPECT_EQ(placement->tensors[0] + placement->tensors[1] + placement->tensors[2], 6 * 4 + 1);
    for (const auto& counts : {placement->cache, placement->activations}) {
      EXPECT_EQ(counts[0] + counts[1] + counts[2], choice.sequences());
      EXPECT_GE(*std::ranges::min_element(counts), 0);
    }
    EXPECT_TRUE(fits(costs, *placement));
    EXPECT_LE(peak_bytes(costs, *placement, Place::kDevice), 2e8 * (1 + 1e-9));
    EXPECT_LE(peak_bytes(costs, *placement, Place::kHost), 2e8 * (1 + 1e-9));
  }
}

TEST(OffloadPlacement, SequencesOfBatchesSumToThoseOfTheBlock) {
  for (std::int64_t batches = 1; batches < 9; ++batches) {
    for (std::int64_t all = 0; all <= 5 * batches; ++all) {
      std::int64_t sum = 0;
      for (std::int64_t batch = 0; batch < batches; ++batch) {
        const std::int64_t one = sequences_of_batch(all, batches, batch);
        EXPECT_LE(one, all / batches + 1);
        EXPECT_GE(one, all / batches);
        sum += one;
      }
      EXPECT_EQ(sum, all);
    }
  }
}

// The simulation is a chain where nothing can overlap: its time is a sum of the parts.
TEST(OffloadSimulation, IsTheSumOfItsPartsWithoutOverlap) {
  const HostedSystem system = small_machine(1e10, 1e10, 1e11);
  GenerationSetup setup = small_model();
  setup.output_tokens = 4;
  const BlockChoice choice{.batch = 2, .overlaps = false};
  const BlockSizes sizes(setup);
  const WholePlacement placement = layers_in_order(setup, choice, 2, 2);
  const auto trace = simulate_generation(system, setup, choice, placement);
  ASSERT_TRUE(trace.ok());
  const Host& host = *system.host;
  // Layers 2 and 3 come from the host; 4, 5 and the output layer from the disk.
  double loads = 2 * sizes.layer_bytes / host.to_device_bytes_per_second;
  for (const double bytes : {sizes.layer_bytes, sizes.layer_bytes, sizes.head_bytes})
    loads += bytes / host.disk_read_bytes_per_second + bytes / host.to_device_bytes_per_second;
  double expected =
      loads + 6 * prefill_layer_s(system, setup, 2) + head_s(system, setup, 2, 2 * sizes.prompt);
  EXPECT_NEAR(trace->run.prefill_s, expected, expected * 1e-9);
  const DecodeParts parts = decode_layer_s(system, setup, 2);
  for (int step = 1; step <= 3; ++step) {
    expected +=
        loads + head_s(system, setup, 2, 2) +
        6 * (parts.before_s + parts.after_s + attention_s(system, setup, 2, sizes.prompt + step));
  }
  EXPECT_NEAR(trace->run.seconds, expected, expected * 1e-9);
  // The price in closed form is the same but for the mean length of caches.
  const BlockCosts costs = block_costs(system, setup, choice);
  EXPECT_NEAR(priced_s(costs, placement), expected, expected * 1e-2);
}

TEST(OffloadSimulation, IsNoFasterThanItsResourcesAndNearThePrice) {
  SKIP_WITHOUT_SOLVER();
  PlacementProgram program = PlacementProgram::make().value();
  int cases = 0;
  double worst = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    base::Random random(seed);
    const HostedSystem system =
        small_machine(random.uniform(1e8, 4e8), random.uniform(2e8, 8e8), 1e10);
    const GenerationSetup setup = small_model();
    const BlockChoice choice{random.between(1, 12), random.between(2, 8), random.chance(0.5)};
    const BlockCosts costs = block_costs(system, setup, choice);
    const auto answer = program.solve(costs, {}, true).value();
    if (!answer) continue;
    const auto placement = round_placement(costs, setup, choice, answer->fractions, true);
    if (!placement) continue;
    const auto trace = simulate_generation(system, setup, choice, *placement);
    ASSERT_TRUE(trace.ok());
    ++cases;
    for (const double busy : trace->run.busy_s)
      EXPECT_LE(busy, trace->run.seconds * (1 + 1e-9)) << seed;
    // Loads of two layers may run beside the pass before.
    const double slack = 3.0 / 7.0;
    EXPECT_GE(trace->run.seconds, answer->least_s * (1 - slack)) << seed;
    worst = std::max(worst, trace->run.seconds / priced_s(costs, *placement));
  }
  EXPECT_GE(cases, 30);
  EXPECT_LE(worst, 2.0);
}

TEST(OffloadSimulation, LongGenerationsAreExtrapolatedFromSomeSteps) {
  const HostedSystem system = machine();
  GenerationSetup setup = small_model();
  setup.output_tokens = 64;
  const BlockChoice choice{4, 3, false};
  const WholePlacement placement = layers_in_order(setup, choice, 3, 4);
  const auto all = simulate_generation(system, setup, choice, placement, 1'000'000);
  const auto some = simulate_generation(system, setup, choice, placement, 2'000);
  ASSERT_TRUE(all.ok() && some.ok());
  EXPECT_EQ(all->run.decode_steps, 63);
  EXPECT_LT(some->run.decode_steps, 63);
  EXPECT_NEAR(some->run.seconds, all->run.seconds, all->run.seconds * 0.03);
}

TEST(OffloadSimulation, IsMonotoneInEachRate) {
  const GenerationSetup setup = small_model();
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    base::Random random(seed);
    const HostedSystem system = small_machine(4e8, 1e9, 1e10);
    const BlockChoice choice{random.between(1, 8), random.between(1, 5), random.chance(0.5)};
    Fractions fractions;
    for (const Value value : kValues) {
      const double device = random.unit(), host = (1 - device) * random.unit();
      fractions.set(value, device, host, 1 - device - host);
    }
    const auto placement =
        round_placement(block_costs(system, setup, choice), setup, choice, fractions, true);
    if (!placement) continue;
    const double before = simulate_generation(system, setup, choice, *placement)->run.seconds;
    for (double Host::*rate :
         {&Host::to_device_bytes_per_second, &Host::from_device_bytes_per_second,
          &Host::disk_read_bytes_per_second, &Host::disk_write_bytes_per_second,
          &Host::bytes_per_second}) {
      HostedSystem faster = system;
      faster.host.value().*rate *= 1.7;
      EXPECT_LE(simulate_generation(faster, setup, choice, *placement)->run.seconds,
                before * (1 + 1e-12))
          << seed;
    }
  }
}

TEST(OffloadPlan, IsNoWorseThanAnyRuleAndKeepsTheMemory) {
  SKIP_WITHOUT_SOLVER();
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    base::Random random(seed);
    const HostedSystem system =
        small_machine(random.uniform(1e8, 5e8), random.uniform(3e8, 2e9), 1e11);
    const OffloadPlan plan = planned(system, small_model());
    int rules = 0;
    for (const OffloadRule& rule : plan.rules) {
      if (!rule.policy) continue;
      ++rules;
      EXPECT_GE(plan.best.tokens_per_s, rule.policy->tokens_per_s) << rule.name;
    }
    EXPECT_GE(rules, 1);
    EXPECT_LE(plan.best.peak_bytes[0], system.accelerator.memory_bytes * (1 + 1e-9));
    EXPECT_LE(plan.best.peak_bytes[1], system.host.value().memory_bytes * (1 + 1e-9));
    EXPECT_LE(plan.best.peak_bytes[2], system.host.value().disk_bytes * (1 + 1e-9));
    EXPECT_GE(plan.bound_tokens_per_s, plan.best.tokens_per_s);
    EXPECT_TRUE(
        std::ranges::is_sorted(plan.ranking, std::greater<>(), &OffloadPolicy::tokens_per_s));
  }
}

// All placements of whole tensors and sequences on accelerator and host, simulated.
double best_of_all_placements(const HostedSystem& system, const GenerationSetup& setup,
                              const BlockChoice& choice) {
  const BlockSizes sizes(setup);
  const BlockCosts costs = block_costs(system, setup, choice);
  const double h = static_cast<double>(setup.hidden), square = h * h * kFullBytes;
  // Queries, keys and values with what is small; projection; both feed-forward products.
  const std::array<double, 4> tensors = {sizes.layer_bytes - 9 * square, square, 4 * square,
                                         4 * square};
  const auto units = static_cast<unsigned>(4 * setup.layers + 1);
  const std::int64_t sequences = choice.sequences();
  double least = std::numeric_limits<double>::infinity();
  for (unsigned on_host = 0; on_host < (1U << units); ++on_host) {
    WholePlacement placement;
    placement.layers.resize(static_cast<std::size_t>(setup.layers + 1));
    for (unsigned unit = 0; unit < units; ++unit) {
      const std::size_t place = (on_host >> unit) & 1U;
      placement.layers[unit / 4][place] += unit + 1 == units ? sizes.head_bytes : tensors[unit % 4];
    }
    for (std::int64_t cache = 0; cache <= sequences; ++cache) {
      placement.cache = {cache, sequences - cache, 0};
      for (const std::int64_t kept : {std::int64_t{0}, sequences}) {
        placement.activations = {kept, sequences - kept, 0};
        if (!fits(costs, placement)) continue;
        least = std::min(least, simulate_generation(system, setup, choice, placement)->run.seconds);
      }
    }
  }
  return least;
}

TEST(OffloadPlan, IsNearTheBestOfAllWholePlacements) {
  SKIP_WITHOUT_SOLVER();
  GenerationSetup setup = small_model();
  setup.layers = 2;
  setup.output_tokens = 4;
  int cases = 0;
  for (const bool cores : {false, true}) {
    for (const double device_bytes : {5e7, 7e7, 9e7}) {
      const HostedSystem system = small_machine(device_bytes, 1e9, 0);
      setup.gpu_batch = 2;
      setup.gpu_batches = 2;
      setup.cpu_attention = cores ? CpuAttention::kOn : CpuAttention::kOff;
      const double least = best_of_all_placements(system, setup, {2, 2, cores});
      if (least == std::numeric_limits<double>::infinity()) {
        EXPECT_FALSE(plan_offload(system, setup, {}).ok());
        continue;
      }
      ++cases;
      const double found = planned(system, setup).best.run.seconds;
      EXPECT_GE(found, least * (1 - 1e-9));
      EXPECT_LE(found, least * 1.05) << device_bytes << ' ' << cores;
    }
  }
  EXPECT_GE(cases, 4);
}

TEST(OffloadPlan, MoreMemoryOrFasterLinksAreNoWorse) {
  SKIP_WITHOUT_SOLVER();
  const HostedSystem system = small_machine(2e8, 6e8, 1e11);
  const OffloadPlan plan = planned(system, small_model());
  HostedSystem larger = system, faster = system, roomier = system;
  larger.accelerator.memory_bytes *= 2;
  faster.host.value().to_device_bytes_per_second *= 2;
  roomier.host.value().memory_bytes *= 3;
  for (const HostedSystem& other : {larger, faster, roomier}) {
    // Rounding and the order of simulations may cost a little.
    EXPECT_GE(planned(other, small_model()).best.tokens_per_s, plan.best.tokens_per_s * 0.99);
    EXPECT_GE(planned(other, small_model()).bound_tokens_per_s,
              plan.bound_tokens_per_s * (1 - 1e-6));
  }
}

TEST(OffloadPlan, IsTheSameInEachRunAndIsFoundAgain) {
  SKIP_WITHOUT_SOLVER();
  const HostedSystem system = small_machine(2e8, 6e8, 1e11);
  GenerationSetup setup = small_model();
  const OffloadPlan first = planned(system, setup), second = planned(system, setup);
  EXPECT_EQ(first.best.tokens_per_s, second.best.tokens_per_s);
  EXPECT_EQ(first.best.placement.layers, second.best.placement.layers);
  EXPECT_EQ(first.counts.simulations, second.counts.simulations);
  const std::string toml = to_toml(first, "t4-flexgen");
  EXPECT_THAT(toml, HasSubstr("gpu-batch = " + std::to_string(first.best.choice.batch)));
}

TEST(OffloadPlan, EverythingThatFitsStaysOnTheAccelerator) {
  SKIP_WITHOUT_SOLVER();
  HostedSystem system = machine();
  system.accelerator.memory_bytes = 1e12;
  GenerationSetup setup = small_model();
  setup.gpu_batch = 8;
  setup.gpu_batches = 1;
  const OffloadPlan plan = planned(system, setup);
  const Fractions fractions = plan.best.placement.fractions();
  for (const Value value : kValues) EXPECT_EQ(fractions.at(value, Place::kDevice), 1);
}

TEST(OffloadPlan, ExplainsEachChoiceByAWorseOne) {
  SKIP_WITHOUT_SOLVER();
  const OffloadPlan plan = planned(small_machine(2e8, 6e8, 1e11), small_model(), true);
  std::vector<std::string> choices;
  for (const OffloadRunnerUp& one : plan.runners_up) {
    choices.push_back(one.choice);
    EXPECT_NE(one.value, one.other);
    EXPECT_LE(one.policy.tokens_per_s, plan.best.tokens_per_s * (1 + 1e-9)) << one.choice;
  }
  EXPECT_THAT(choices, testing::IsSupersetOf({"gpu-batch", "cpu-attention", "weights"}));
}

TEST(OffloadPlan, AStopEndsTheSearchWithTheBestSoFar) {
  SKIP_WITHOUT_SOLVER();
  base::request_stop(15);
  const auto plan = plan_offload(small_machine(2e8, 6e8, 1e11), small_model(), {});
  base::request_stop(0);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->stop_reason, "signal");
  EXPECT_EQ(plan->counts.programs, 0);  // only rules
  const OffloadPlan whole = planned(small_machine(2e8, 6e8, 1e11), small_model());
  EXPECT_GE(plan->bound_tokens_per_s, whole.best.tokens_per_s);
}

TEST(OffloadPlan, ErrorsNameTheirCause) {
  SKIP_WITHOUT_SOLVER();
  GenerationSetup setup = small_model();
  const HostedSystem without = hosted_system_called("dgx-a100").value();
  EXPECT_THAT(std::string(plan_offload(without, setup, {}).status().message()),
              HasSubstr("[host]"));
  setup.weights_on = "50,60,0";
  EXPECT_THAT(std::string(plan_offload(machine(), setup, {}).status().message()),
              HasSubstr("--weights-on"));
  setup = small_model();
  setup.layers = 1'000'000'000;
  EXPECT_THAT(std::string(plan_offload(machine(), setup, {}).status().message()),
              HasSubstr("--model-layers"));
  const HostedSystem tiny = small_machine(2e6, 2e6, 0);
  EXPECT_THAT(std::string(plan_offload(tiny, small_model(), {}).status().message()),
              HasSubstr("no policy fits"));
}

// Sheng et al., 2023: OPT-30B on a T4 with weights 20 / 80 / 0, caches and activations on the host,
// batch 48 x 3 and attention on the cores generates 7.32 tokens/s.
TEST(OffloadPlan, FlexGensPolicyIsPricedNearItsMeasurement) {
  SKIP_WITHOUT_SOLVER();
  GenerationSetup setup = opt_30b();
  setup.gpu_batch = 48;
  setup.gpu_batches = 3;
  setup.cpu_attention = CpuAttention::kOn;
  setup.weights_on = "8,92,0";  // as FlexGen rounds 20 %
  setup.cache_on = setup.activations_on = "0,100,0";
  const OffloadPlan plan = planned(machine(), setup);
  EXPECT_GT(plan.best.tokens_per_s, 7.32 / 1.5);
  EXPECT_LT(plan.best.tokens_per_s, 7.32 * 1.5);
}

}  // namespace
}  // namespace egret::parallel
