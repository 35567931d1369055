// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <numeric>

#include "parallel/simulator/step_simulation.h"
#include "parallel/transformer/step_estimate.h"
#include "parallel/transformer/training_memory.h"
#include "parallel/transformer/transformer_kernels.h"
#include "zoo/zoo.h"

namespace egret::parallel {
namespace {

using testing::HasSubstr;

System a100() { return system_called("dgx-a100").value(); }

// All layers have experts, each half as large as a dense layer's network.
TrainingSetup mixture(std::int64_t tensor, std::int64_t pipeline, std::int64_t data,
                      std::int64_t expert_parallel) {
  TrainingSetup setup;
  setup.layers = 8;
  setup.hidden = 1024;
  setup.heads = 16;
  setup.sequence = 1024;
  setup.experts = 16;
  setup.expert_ffn = 2048;
  setup.tensor = tensor;
  setup.sequence_parallel = tensor > 1;
  setup.pipeline = pipeline;
  setup.data = data;
  setup.expert_parallel = expert_parallel;
  setup.global_batch = 8 * data;
  return setup;
}

StepReport simulated(const TrainingSetup& setup, const StepOptions& options = {},
                     const System& system = a100()) {
  const auto report = simulate_step(system, setup, options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.value();
}

double use_of(const StepReport& report, TimeUse use) {
  return report.seconds_by_use[static_cast<std::size_t>(use)];
}

double flops(const KernelList& list, std::string_view name = "") {
  double sum = 0;
  for (const Kernel& kernel : list.kernels()) {
    if (name.empty() || kernel.name.starts_with(name)) sum += kernel.flops;
  }
  return sum;
}

std::size_t count(const KernelList& list, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count(list.kernels(), name, &Kernel::name));
}

TEST(Experts, GetAsManyChoicesAsTokensMake) {
  for (const std::int64_t experts : {8, 16, 160}) {
    for (const std::int64_t ranks : {1, 2, 8}) {
      for (const std::int64_t best : {1, 2, 6}) {
        for (const double skew : {0.0, 0.3, 1.0, 3.0}) {
          TrainingSetup setup = mixture(1, 1, 8, ranks);
          setup.experts = experts;
          setup.top_k = best;
          setup.expert_skew = skew;
          const ExpertLoads loads = expert_loads(setup);
          const auto mean = [](const std::vector<double>& of) {
            return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
          };
          EXPECT_NEAR(mean(loads.by_expert), 1, 1e-12);
          EXPECT_NEAR(mean(loads.by_rank), 1, 1e-12);
          for (std::size_t i = 1; i < loads.by_expert.size(); ++i)
            EXPECT_LE(loads.by_expert[i], loads.by_expert[i - 1] * (1 + 1e-12));
          // A token goes to an expert once at most.
          EXPECT_LE(loads.by_expert.front() * static_cast<double>(best),
                    static_cast<double>(experts) * (1 + 1e-12));
          EXPECT_EQ(loads.dropped, 0);
          if (skew == 0) {
            EXPECT_NEAR(loads.fullest(), 1, 1e-12);
          }
        }
      }
    }
  }
}

TEST(Experts, DropWhatExceedsTheirCapacity) {
  TrainingSetup setup = mixture(1, 1, 8, 8);
  setup.capacity_factor = 1;
  EXPECT_NEAR(expert_loads(setup).dropped, 0, 1e-12);
  setup.capacity_factor = 0.75;
  EXPECT_NEAR(expert_loads(setup).dropped, 0.25, 1e-12);
  // Two experts, of popularity 1 and 1/2: 4/3 and 2/3 of the mean.
  setup = mixture(1, 1, 2, 2);
  setup.experts = 2;
  setup.top_k = 1;
  setup.expert_skew = 1;
  setup.capacity_factor = 1;
  EXPECT_NEAR(expert_loads(setup).dropped, (4.0 / 3 - 1) / 2, 1e-12);
  EXPECT_NEAR(expert_loads(setup).fullest(), 4.0 / 3, 1e-12);
  // Places are whole: 2 for a mean of 1.5.
  setup.sequence = 3;
  EXPECT_NEAR(expert_loads(setup).dropped, 0, 1e-12);
}

// The fullest rank receives and computes more, and no rank sends more than it has.
TEST(Experts, FillOneRankMoreThanOthers) {
  TrainingSetup even = mixture(1, 1, 2, 2);
  even.experts = 2;
  even.top_k = 1;
  TrainingSetup skewed = even;
  skewed.expert_skew = 1;
  EXPECT_DOUBLE_EQ(expert_rows(skewed).sent, expert_rows(even).sent);
  EXPECT_DOUBLE_EQ(expert_rows(skewed).received, expert_rows(even).received * 4 / 3);
  EXPECT_DOUBLE_EQ(expert_rows(skewed).computed, expert_rows(even).computed * 4 / 3);
  // Results of experts, of one choice of 1,024 tokens; rows and what experts keep of them.
  const double computed = 1024.0 * (2 * 1024 + 2 * 2 * 2048);
  EXPECT_NEAR(layer_activation_bytes(skewed, LayerKind::kExperts) -
                  layer_activation_bytes(even, LayerKind::kExperts),
              computed / 3, 1e-6);
}

// What all devices of a group send is what its experts compute.
TEST(Experts, ComputeTheTokensThatAreSent) {
  for (const std::int64_t tensor : {1, 2}) {
    for (const std::int64_t ranks : {1, 2, 8}) {
      for (const double capacity : {0.0, 1.0, 1.25}) {
        TrainingSetup setup = mixture(tensor, 1, 8, ranks);
        setup.capacity_factor = capacity;
        const ExpertRows rows = expert_rows(setup);
        const auto group = static_cast<double>(ranks * tensor);
        const double here = static_cast<double>(setup.experts / ranks);
        // Tensor ranks compute the same rows, each a part of every expert.
        EXPECT_DOUBLE_EQ(group * rows.sent, static_cast<double>(ranks) * rows.computed);
        EXPECT_DOUBLE_EQ(rows.computed, here * rows.per_expert);
        EXPECT_DOUBLE_EQ(expert_exchange_bytes(setup), ranks > 1 ? rows.sent * 1024 * 2 : 0);
        const double choices = 2 * 1024.0 / static_cast<double>(tensor);
        EXPECT_DOUBLE_EQ(rows.sent, choices * (capacity > 0 ? capacity : 1));
      }
    }
  }
}

TEST(Experts, TheirProductsGrowWithChoicesAndCapacity) {
  const System system = a100();
  TrainingSetup setup = mixture(1, 1, 8, 8);
  const double once = flops(layer_forward(system, setup, LayerKind::kExperts), "experts");
  // Two products of 1,024 tokens with two experts each.
  EXPECT_DOUBLE_EQ(once, 2 * 2 * 2 * 1024.0 * 1024 * 2048);
  setup.top_k = 4;
  EXPECT_DOUBLE_EQ(flops(layer_forward(system, setup, LayerKind::kExperts), "experts"), 2 * once);
  setup.capacity_factor = 1.5;
  EXPECT_DOUBLE_EQ(flops(layer_forward(system, setup, LayerKind::kExperts), "experts"), 3 * once);
  EXPECT_DOUBLE_EQ(expert_exchange_bytes(setup), 1.5 * 4 * 1024 * 1024 * 2);
  // Places are whole numbers: of 3 tokens and 4 experts, each has one for the mean of 0.75.
  setup.sequence = 3;
  setup.experts = 4;
  setup.top_k = 1;
  setup.capacity_factor = 1;
  setup.expert_parallel = 4;
  EXPECT_DOUBLE_EQ(expert_rows(setup).sent, 4);
}

TEST(Experts, ModelFlopsAreThoseOfTheKernelsWithoutCapacity) {
  const System system = a100();
  TrainingSetup setup = mixture(1, 1, 1, 1);
  for (const std::int64_t interval : {1, 2, 4}) {
    setup.expert_interval = interval;
    double forward = flops(head_forward(system, setup));
    for (std::int64_t layer = 0; layer < setup.layers; ++layer)
      forward += flops(layer_forward(system, setup, setup.kind_of(layer)));
    EXPECT_NEAR(setup.model_flops(), 3 * 8 * forward, 1e-9 * setup.model_flops());
  }
}

// zoo/sparse_models.cc: the graph whose layer this is.
TEST(Experts, TheirProductsAreThoseOfTheZoosGraph) {
  const auto graph = zoo::find_model("moe-block")->build({.batch = 2});
  ASSERT_TRUE(graph.ok());
  TrainingSetup setup;
  setup.micro_batch = 2;
  setup.sequence = 128;
  setup.hidden = 256;
  setup.experts = 8;
  setup.top_k = 2;
  setup.capacity_factor = 1.25;
  setup.expert_ffn = 1024;
  double graphs = 0;
  for (const ir::Node& node : graph->nodes()) {
    if (node.kind != ir::NodeKind::kOperator || node.op->name() != "matmul") continue;
    const auto& left = graph->node(node.inputs[0]).type.dims;
    const auto& right = graph->node(node.inputs[1]).type.dims;
    if (left.size() != 3 || right.size() != 3) continue;
    EXPECT_EQ(left[0].constant(), setup.experts);
    EXPECT_EQ(static_cast<double>(left[1].constant()), expert_rows(setup).per_expert);
    graphs += 2.0 * static_cast<double>(left[0].constant() * left[1].constant() *
                                        left[2].constant() * right[2].constant());
  }
  EXPECT_DOUBLE_EQ(flops(layer_forward(a100(), setup, LayerKind::kExperts), "experts"), graphs);
}

TEST(Experts, ExchangeTokensTwiceInEachPass) {
  const System system = a100();
  TrainingSetup setup = mixture(1, 1, 8, 8);
  EXPECT_EQ(count(layer_forward(system, setup, LayerKind::kExperts), "all-to-all"), 2U);
  EXPECT_EQ(count(layer_backward(system, setup, LayerKind::kExperts), "all-to-all"), 2U);
  setup.recompute = Recompute::kFull;
  EXPECT_EQ(count(layer_backward(system, setup, LayerKind::kExperts), "all-to-all"), 4U);
  EXPECT_EQ(count(layer_forward(system, setup, LayerKind::kDense), "all-to-all"), 0U);
}

TEST(Experts, OnOneRankNeedNoExchange) {
  const TrainingSetup alone = mixture(1, 1, 8, 1);
  EXPECT_EQ(count(layer_forward(a100(), alone, LayerKind::kExperts), "all-to-all"), 0U);
  EXPECT_EQ(use_of(simulated(alone), TimeUse::kExpertExchange), 0);
  EXPECT_GT(use_of(simulated(mixture(1, 1, 8, 8)), TimeUse::kExpertExchange), 0);
}

TEST(Experts, ExchangesTakeTheirTimeTimesLayersAndMicroBatches) {
  const System system = a100();
  TrainingSetup setup = mixture(1, 1, 8, 8);
  for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
    setup.recompute = recompute;
    const double one = expert_exchange_s(system.fabric, setup);
    EXPECT_NEAR(use_of(simulated(setup), TimeUse::kExpertExchange),
                one * expert_exchanges(recompute) * 8 * 8, 1e-9);
  }
}

TEST(Experts, ExchangeWithinNodesFirstWhereMessagesAreSmall) {
  const System system = a100();
  TrainingSetup setup = mixture(1, 1, 256, 256);
  setup.experts = 256;
  setup.global_batch = 256;
  const auto seconds = [&](ExpertExchange way) {
    setup.expert_exchange = way;
    return expert_exchange_s(system.fabric, setup);
  };
  setup.sequence = 256;
  EXPECT_LT(seconds(ExpertExchange::kHierarchical), seconds(ExpertExchange::kDirect));
  EXPECT_EQ(seconds(ExpertExchange::kFastest), seconds(ExpertExchange::kHierarchical));
  setup.sequence = 1 << 20;
  EXPECT_LT(seconds(ExpertExchange::kDirect), seconds(ExpertExchange::kHierarchical));
  EXPECT_EQ(seconds(ExpertExchange::kFastest), seconds(ExpertExchange::kDirect));
}

// Counts all ways of a token to choose different experts.
TEST(Experts, MeetAsManyPlacesAsChoicesOnAverage) {
  for (const unsigned experts : {2U, 4U, 8U, 12U}) {
    for (unsigned choices = 1; choices <= experts; ++choices) {
      for (unsigned places = 1; places <= experts; ++places) {
        if (experts % places != 0) continue;
        double sum = 0, ways = 0;
        for (unsigned chosen = 0; chosen < 1U << experts; ++chosen) {
          if (std::popcount(chosen) != static_cast<int>(choices)) continue;
          unsigned met = 0;
          for (unsigned i = 0; i < experts; ++i) met |= (chosen >> i & 1) << i % places;
          sum += std::popcount(met);
          ++ways;
        }
        EXPECT_NEAR(distinct_places(places, experts, choices), sum / ways, 1e-12)
            << experts << " " << choices << " " << places;
      }
    }
  }
}

TEST(Experts, SendATokenOnceToEachNodeAndRank) {
  System system = a100();
  for (Tier& tier : system.fabric.tiers) tier.start_s = tier.hop_s = tier.ramp = 0;
  TrainingSetup setup = mixture(1, 1, 16, 16);
  setup.sequence = 1 << 20;
  const auto seconds = [&](ExpertExchange way) {
    setup.expert_exchange = way;
    return expert_exchange_s(system.fabric, setup);
  };
  // Two nodes: the network, which is slower, gets 23 of 30 copies, of which half leave.
  EXPECT_NEAR(seconds(ExpertExchange::kOnce) / seconds(ExpertExchange::kDirect), 23.0 / 30, 1e-9);
  setup.top_k = 8;
  EXPECT_NEAR(seconds(ExpertExchange::kOnce) / seconds(ExpertExchange::kDirect),
              distinct_places(2, 16, 8) / 8, 1e-9);
  // In one node, of 8 ranks.
  setup.data = setup.expert_parallel = 8;
  EXPECT_NEAR(seconds(ExpertExchange::kOnce) / seconds(ExpertExchange::kDirect),
              distinct_places(8, 16, 8) / 8, 1e-9);
}

// 12 ranks are on two nodes of 8.
TEST(Experts, CrossTheNetworkWhereTheirRanksDoNotFitIntoANode) {
  TrainingSetup setup = mixture(1, 1, 12, 12);
  setup.experts = 12;
  setup.expert_exchange = ExpertExchange::kOnce;
  System slow = a100();
  slow.fabric.tiers[1].bytes_per_second /= 100;
  EXPECT_GT(expert_exchange_s(slow.fabric, setup), 10 * expert_exchange_s(a100().fabric, setup));
}

TEST(Experts, OverlapHidesTheirExchanges) {
  TrainingSetup setup = mixture(1, 1, 16, 16);
  const StepOptions options{.recorded_launches = true};
  const StepReport seen = simulated(setup, options);
  setup.overlap_experts = true;
  const StepReport hidden = simulated(setup, options);
  EXPECT_LT(hidden.seconds, seen.seconds);
  EXPECT_LT(use_of(hidden, TimeUse::kExpertExchange), use_of(seen, TimeUse::kExpertExchange));
  EXPECT_GE(hidden.seconds * (1 + a100().accelerator.overlap_slowdown),
            seen.seconds - use_of(seen, TimeUse::kExpertExchange));
}

TEST(Experts, AreDividedAmongTheirRanks) {
  const TrainingSetup whole = mixture(1, 1, 16, 1), divided = mixture(1, 1, 16, 8);
  EXPECT_DOUBLE_EQ(whole.model_parameters(), divided.model_parameters());
  EXPECT_DOUBLE_EQ(whole.expert_parameters(), 16.0 * 2 * 1024 * 2048);
  EXPECT_DOUBLE_EQ(divided.expert_parameters(), 2.0 * 2 * 1024 * 2048);
  const double others = whole.model_parameters() - 8 * whole.expert_parameters();
  const double here = others + 8 * divided.expert_parameters();
  const auto peak = [&](std::int64_t zero, MemoryKind kind) {
    return simulated(divided, {.zero = zero}).devices[0].peak_bytes[static_cast<std::size_t>(kind)];
  };
  EXPECT_NEAR(peak(0, MemoryKind::kWeights), 2 * here, 1);
  EXPECT_NEAR(peak(0, MemoryKind::kOptimizer), 12 * here, 1);
  // 16 ranks have the other weights, and 2 the same experts.
  const double parts = others / 16 + 8 * divided.expert_parameters() / 2;
  EXPECT_NEAR(peak(1, MemoryKind::kOptimizer), 12 * parts, 1);
  EXPECT_NEAR(peak(2, MemoryKind::kGradients), 4 * parts, 1);
  EXPECT_NEAR(state_bytes(divided, here, here - others).optimizer, 12 * here, 1);
}

// Each expert on one rank, beside tensor-parallel attention: as if there were no tensor ranks.
TEST(Experts, MayBeDividedOtherwiseThanAttention) {
  TrainingSetup setup = mixture(4, 1, 2, 8);
  setup.expert_tensor = 1;
  ASSERT_TRUE(setup.check().ok());
  const TrainingSetup flat = mixture(1, 1, 8, 8);
  EXPECT_DOUBLE_EQ(setup.all_expert_parameters(), flat.all_expert_parameters());
  EXPECT_DOUBLE_EQ(setup.model_parameters(), flat.model_parameters());
  EXPECT_DOUBLE_EQ(setup.expert_parameters(), flat.expert_parameters());
  EXPECT_DOUBLE_EQ(expert_rows(setup).computed, expert_rows(flat).computed / 4);
  EXPECT_EQ(expert_group(setup).stride, 1);
  EXPECT_EQ(expert_data_group(setup, 2).size, 1);
  const KernelList folded = layer_forward(a100(), setup, LayerKind::kExperts);
  EXPECT_EQ(count(folded, "all-gather of rows"), 0U);
  setup.expert_parallel = 2;
  setup.expert_tensor = 4;
  EXPECT_EQ(count(layer_forward(a100(), setup, LayerKind::kExperts), "all-gather of rows"), 1U);
}

// An all-reduce in a ring sends 2 (n - 1) / n of its bytes.
TEST(Experts, SumTheirGradientsOverTheRanksThatHaveThem) {
  System system = a100();
  for (Tier& tier : system.fabric.tiers) tier.topology = {};
  const auto sent = [&](const TrainingSetup& setup, const StepOptions& options) {
    const auto simulation = StepSimulation::make(system, setup, options);
    EXPECT_TRUE(simulation.ok());
    double bytes = 0;
    for (std::size_t i = 0; i < simulation->program().tasks.size(); ++i) {
      const TaskWork& work = simulation->simulator().graph().tasks()[i].work;
      if (simulation->program().tasks[i].part == StepPart::kGradients) bytes += work.bytes;
    }
    return bytes;
  };
  TrainingSetup setup = mixture(1, 1, 8, 4);
  const double experts = 4 * 8 * setup.expert_parameters();
  const double others = 4 * (setup.model_parameters() - 4 * 8 * setup.expert_parameters());
  const auto ring = [](double ranks) { return 2 * (ranks - 1) / ranks; };
  // Members of a node share the links above it; here all are in one node.
  EXPECT_NEAR(sent(setup, {}), ring(8) * others + ring(2) * experts, 1e-6 * others);
  setup.overlap_gradients = true;
  EXPECT_NEAR(sent(setup, {}), ring(8) * others + ring(2) * experts, 1e-6 * others);
  setup.expert_parallel = 8;
  EXPECT_NEAR(sent(setup, {}), ring(8) * others, 1e-6 * others);
  // One copy of all other weights, and two of the experts: tensor ranks have whole ones.
  setup = mixture(4, 1, 1, 2);
  setup.expert_tensor = 1;
  const double twice = 2 * 8 * setup.expert_parameters();
  EXPECT_NEAR(sent(setup, {}), 4 * ring(2) / 2 * twice, 1e-6 * twice);
  setup.overlap_gradients = true;
  EXPECT_NEAR(sent(setup, {}), 4 * ring(2) / 2 * twice, 1e-6 * twice);
  // Half of the experts, and a layer's whole ones while they compute.
  const double here =
      8 * (setup.layer_parameters(LayerKind::kExperts) - setup.expert_parameters()) +
      setup.embedding_parameters();
  const StepReport divided = simulated(setup, {.zero = 3});
  EXPECT_GE(divided.devices[0].peak_bytes[static_cast<std::size_t>(MemoryKind::kWeights)],
            2 * here + twice / 2 + 2 * setup.expert_parameters());
}

TEST(Experts, RunWithAllOtherKindsOfParallelism) {
  std::size_t number = 0;
  const auto check = [&](TrainingSetup setup, const StepOptions& options = {}) {
    const StepReport report = simulated(setup, options);
    for (const DeviceReport& device : report.devices) {
      const double sum = std::accumulate(device.seconds.begin(), device.seconds.end(), 0.0);
      EXPECT_NEAR(sum, report.seconds, 1e-9 * report.seconds) << "case " << number;
      EXPECT_NEAR(device.memory.back().bytes, device.memory.front().bytes, 1) << "case " << number;
    }
    System faster = a100();
    for (Tier& tier : faster.fabric.tiers) tier.bytes_per_second *= 2;
    EXPECT_LE(simulated(setup, options, faster).seconds, report.seconds) << "case " << number;
    EXPECT_LT(report.mfu, 1);
    ++number;
  };
  TrainingSetup setup = mixture(2, 2, 4, 8);
  setup.context = 2;
  check(setup);
  setup.expert_interval = 2;
  check(setup);
  for (const PipelineKind schedule :
       {PipelineKind::kGpipe, PipelineKind::kZbH1, PipelineKind::kDualPipe}) {
    setup.schedule = schedule;
    check(setup);
  }
  setup.schedule = PipelineKind::k1F1B;
  setup.expert_tensor = 1;
  check(setup);
  setup.virtual_stages = 2;
  check(setup);
  for (const std::int64_t zero : {1, 2, 3}) check(mixture(1, 2, 8, 8), {.zero = zero});
  check(mixture(1, 2, 8, 2), {.zero = 3});
  check(mixture(1, 2, 8, 2), {.offload = Offload::kOptimizer});
  check(mixture(1, 2, 4, 2), {.forward_only = true});
  check(mixture(1, 2, 4, 2), {.each_replica = true});
  setup = mixture(1, 4, 4, 4);
  setup.full_layers = "1,0,2,0";
  check(setup);
}

TEST(Experts, EveryIntervalOfLayersHasThem) {
  TrainingSetup setup = mixture(1, 4, 8, 8);
  setup.layers = 14;
  for (const std::int64_t interval : {1, 2, 3, 5}) {
    setup.expert_interval = interval;
    double parameters = 0, experts = 0;
    for (const ChunkWork& chunk : chunk_work(a100(), setup)) {
      parameters += chunk.parameters;
      experts += chunk.expert_parameters;
    }
    const auto layers = static_cast<double>(14 / interval);
    EXPECT_DOUBLE_EQ(experts, layers * setup.expert_parameters());
    EXPECT_NEAR(parameters + 7 * experts, setup.model_parameters() + setup.embedding_parameters(),
                1);
    // Piece by piece as together.
    TrainingSetup pieces = setup;
    pieces.overlap_gradients = true;
    EXPECT_EQ(simulated(setup).devices[1].peak_total_bytes,
              simulated(pieces).devices[1].peak_total_bytes);
  }
}

TEST(Experts, TheClosedFormIsNearTheSimulation) {
  for (const std::int64_t pipeline : {1, 2, 4}) {
    const TrainingSetup setup = mixture(1, pipeline, 8, 8);
    const double estimate = estimate_step(a100(), setup)->seconds;
    EXPECT_NEAR(simulated(setup).seconds / estimate, 1, 0.05) << pipeline;
  }
}

TEST(Experts, KeepWhatTheirBackwardPassReads) {
  TrainingSetup setup = mixture(1, 1, 8, 8);
  setup.no_dropout = setup.flash_attention = true;
  const double tokens = 1024, hidden = 1024, inner = 2048, best = 2;
  // Normalizations, attention, rows of experts and their results, and shares in f32.
  EXPECT_DOUBLE_EQ(layer_activation_bytes(setup, LayerKind::kExperts),
                   tokens * (8 * hidden + 8 * hidden + best * (4 * hidden + 4 * inner) + 4 * 16));
}

TEST(Experts, AreCheckedWithTheOtherDegrees) {
  const auto error = [](const std::function<void(TrainingSetup&)>& change) {
    TrainingSetup setup = mixture(1, 1, 8, 4);
    change(setup);
    return std::string(setup.check().message());
  };
  EXPECT_EQ(error([](TrainingSetup&) {}), "");
  EXPECT_THAT(error([](TrainingSetup& s) { s.experts = 0; }), HasSubstr("--ep needs"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.experts = 6; }), HasSubstr("multiple of --ep"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.expert_parallel = 16; }),
              HasSubstr("multiple of --ep x --expert-tp"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.top_k = 17; }), HasSubstr("--top-k"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.tensor = 2; }), HasSubstr("--sequence-parallel"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.expert_ffn = 7, s.tensor = 2; }),
              HasSubstr("--expert-ffn"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.tensor = s.data = s.context = 1'000'000'000; }),
              HasSubstr("at most 1e9"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.expert_interval = 9; }),
              HasSubstr("--expert-interval"));
}

}  // namespace
}  // namespace egret::parallel
