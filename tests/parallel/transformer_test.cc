// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "parallel/transformer/step_estimate.h"
#include "parallel/transformer/training_memory.h"
#include "parallel/transformer/transformer_kernels.h"

namespace egret::parallel {
namespace {

using testing::HasSubstr;

TrainingSetup gpt_175b() {
  TrainingSetup setup;
  setup.layers = 96;
  setup.hidden = 12288;
  setup.heads = 96;
  setup.tensor = 8;
  setup.pipeline = 8;
  setup.global_batch = 64;
  return setup;
}

// Exchanges take no time, and there is no embedding to speak of, so stages are equal.
System free_links() {
  System system = system_called("dgx-a100").value();
  for (Tier& tier : system.fabric.tiers) {
    tier.bytes_per_second = 1e23;
    tier.start_s = tier.hop_s = tier.ramp = 0;
  }
  system.accelerator.host_seconds_per_kernel = 0;
  system.accelerator.host_seconds_per_collective = 0;
  return system;
}
TrainingSetup equal_stages(std::int64_t stages, std::int64_t chunks) {
  TrainingSetup setup;
  setup.layers = 128;
  setup.hidden = 8192;
  setup.heads = 64;
  setup.vocabulary = 8;
  setup.pipeline = stages;
  setup.virtual_stages = chunks;
  setup.global_batch = 16;
  return setup;
}

double seconds(const System& system, const TrainingSetup& setup) {
  const auto step = estimate_step(system, setup);
  EXPECT_TRUE(step.ok()) << step.status().message();
  return step->seconds;
}

TEST(TrainingSetup, CountsParametersAndOperationsAsPapersDo) {
  const TrainingSetup gpt = gpt_175b();
  EXPECT_NEAR(gpt.model_parameters() / 175e9, 1, 0.01);
  // Narayanan et al. (2021), equation 3, without the recomputation: 72 B s l h^2 (...).
  const double b = 64, s = 2048, l = 96, h = 12288, v = 51200;
  const double expected = 72 * b * s * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  EXPECT_NEAR(gpt.model_flops() / expected, 1, 1e-9);
  EXPECT_EQ(gpt.devices(), 64);
  EXPECT_EQ(gpt.micro_batches(), 64);
}

TEST(TrainingSetup, RejectsSizesThatDoNotDivide) {
  const auto error = [](const std::function<void(TrainingSetup&)>& change) {
    TrainingSetup setup = gpt_175b();
    change(setup);
    return std::string(setup.check().message());
  };
  EXPECT_EQ(error([](TrainingSetup&) {}), "");
  EXPECT_THAT(error([](TrainingSetup& s) { s.heads = 100; }), HasSubstr("--heads"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.tensor = 7; }), HasSubstr("--tp"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.data = 3; }), HasSubstr("--global-batch"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.pipeline = 128; }), HasSubstr("--model-layers"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.virtual_stages = 2, s.pipeline = 1; }),
              HasSubstr("--vpp"));
  EXPECT_EQ(error([](TrainingSetup& s) { s.kv_heads = 24; }), "");
  EXPECT_EQ(error([](TrainingSetup& s) { s.kv_heads = 4; }), "");
  EXPECT_THAT(error([](TrainingSetup& s) { s.kv_heads = 12; }), HasSubstr("--kv-heads"));
  EXPECT_THAT(error([](TrainingSetup& s) { s.layers = s.pipeline = 200'000; }),
              HasSubstr("100000"));
  // Sums of such numbers leave 64 bits, and would come back to the number of layers.
  EXPECT_THAT(error([](TrainingSetup& s) {
                s.pipeline = 3;
                s.stage_layers = "9223372036854775807,9223372036854775807,98";
              }),
              HasSubstr("--stage-layers"));
  EXPECT_FALSE(estimate_step(free_links(),
                             [] {
                               TrainingSetup setup;
                               setup.heads = 3;
                               return setup;
                             }())
                   .ok());
}

// Ranks beyond the number of key heads hold copies of them: no rank has less than one.
TEST(TrainingSetup, TensorRanksBeyondTheKeyHeadsHoldCopies) {
  TrainingSetup setup = gpt_175b();
  setup.kv_heads = 4;
  const double h = 12288;
  const auto attention = [&] {
    return setup.layer_parameters() - setup.common_parameters(LayerKind::kDense) -
           8 * h * h / setup.tensor;
  };
  EXPECT_NEAR(attention(), h * (12 + 2 * 1) * 128 + h * h / 8, 1);  // one of keys, one of values
  setup.tensor = 4;
  EXPECT_NEAR(attention(), h * (24 + 2 * 1) * 128 + h * h / 4, 1);
  setup.tensor = 2;
  EXPECT_NEAR(attention(), h * (48 + 2 * 2) * 128 + h * h / 2, 1);
  // The model is the same however it is divided.
  const double whole = setup.model_parameters(), flops = setup.model_flops();
  setup.tensor = 8;
  EXPECT_NEAR(setup.model_parameters(), whole, 1e-12 * whole);
  EXPECT_EQ(setup.model_flops(), flops);
}

TEST(TrainingSetup, LastRanksPadTheVocabulary) {
  TrainingSetup setup = gpt_175b();
  setup.vocabulary = 50257;
  EXPECT_EQ(setup.vocabulary_part(), 6283);
  EXPECT_EQ(setup.embedding_parameters(), 6283.0 * 12288);
}

TEST(TrainingSetup, LayersOfChunksDifferByOne) {
  TrainingSetup setup;
  setup.layers = 10;
  setup.pipeline = 4;
  EXPECT_THAT(setup.layers_of_chunks(), testing::ElementsAre(3, 3, 2, 2));
}

// Korthikanti et al. (2022), equations 1 to 6, table 2.
TEST(TrainingMemory, ActivationsOfALayerFollowThePaper) {
  TrainingSetup setup = gpt_175b();
  const double sbh = 2048.0 * 12288, t = 8, scores = 5 * 96 * 2048.0 / 12288;
  const auto with = [&](bool sequence, Recompute recompute) {
    setup.sequence_parallel = sequence;
    setup.recompute = recompute;
    return layer_activation_bytes(setup) / sbh;
  };
  EXPECT_NEAR(with(false, Recompute::kNone), 10 + 24 / t + scores / t, 1e-9);
  EXPECT_NEAR(with(true, Recompute::kNone), (34 + scores) / t, 1e-9);
  EXPECT_NEAR(with(false, Recompute::kSelective), 10 + 24 / t, 1e-9);
  EXPECT_NEAR(with(true, Recompute::kSelective), 34 / t, 1e-9);
  EXPECT_NEAR(with(false, Recompute::kFull), 2, 1e-9);
}

TEST(TrainingMemory, StateTakesEighteenBytesAParameter) {
  TrainingSetup setup = gpt_175b();
  const auto total = [&] {
    const StateBytes state = state_bytes(setup, 1e9);
    return (state.weights + state.gradients + state.optimizer) / 1e9;
  };
  EXPECT_EQ(total(), 18);  // ZeRO's 16, with gradients of 32 bits
  setup.data = 4;
  setup.distributed_optimizer = true;
  EXPECT_EQ(total(), 6 + 12.0 / 4);
  setup.frozen = true;
  EXPECT_EQ(total(), 2);
}

TEST(KernelTime, PowersAreRepeatedComposition) {
  const KernelTime one{.device_s = 3, .tail_s = 5, .host_s = 2, .by_kind_s = {1, 2, 0}};
  KernelTime folded;
  for (int i = 0; i < 13; ++i) folded = folded.then(one);
  const KernelTime power = one.times(13);
  EXPECT_DOUBLE_EQ(power.device_s, folded.device_s);
  EXPECT_DOUBLE_EQ(power.tail_s, folded.tail_s);
  EXPECT_DOUBLE_EQ(power.host_s, folded.host_s);
  EXPECT_DOUBLE_EQ(power.by_kind_s[1], 26);
}

TEST(KernelTime, ASlowHostBoundsTheList) {
  System system = free_links();
  system.accelerator.host_seconds_per_kernel = 1;
  KernelList list(system, Precision::kF16);
  for (int i = 0; i < 10; ++i) list.memory("copy", 1e6);
  EXPECT_NEAR(list.time().tail_s, 10, 1e-3);
  EXPECT_LT(list.time().device_s, 1e-3);
}

TEST(StepEstimate, BubblesHaveTheirClosedForms) {
  const System system = free_links();
  for (const std::int64_t stages : {2, 4, 8, 16}) {
    for (const std::int64_t chunks : {1, 2, 4}) {
      const TrainingSetup setup = equal_stages(stages, chunks);
      const auto step = estimate_step(system, setup);
      ASSERT_TRUE(step.ok()) << step.status().message();
      const double p = static_cast<double>(stages), v = static_cast<double>(chunks), m = 16;
      EXPECT_NEAR(step->bubble_s / step->steady_s, (p - 1) / (m * v), 0.01 / v)
          << stages << " stages, " << chunks << " chunks";
    }
  }
}

TEST(StepEstimate, PartsAddUp) {
  const auto step = estimate_step(system_called("dgx-a100").value(), gpt_175b()).value();
  EXPECT_DOUBLE_EQ(step.seconds, step.steady_s + step.bubble_s + step.transfers_s +
                                     step.exchange_s + step.optimizer_s);
  EXPECT_GT(step.mfu, 0.2);
  EXPECT_LT(step.mfu, 0.7);
}

TEST(StepEstimate, FasterPartsNeverSlowAStep) {
  const System base = system_called("dgx-a100").value();
  for (TrainingSetup setup : {gpt_175b(), equal_stages(4, 2)}) {
    setup.data = 2;
    setup.global_batch *= 2;
    const double before = seconds(base, setup);
    for (std::size_t i = 0; i < base.fabric.tiers.size(); ++i) {
      System faster = base;
      faster.fabric.tiers[i].bytes_per_second *= 2;
      EXPECT_LE(seconds(faster, setup), before);
    }
    System faster = base;
    for (double& peak : faster.accelerator.peak_flops_per_second) peak *= 2;
    EXPECT_LT(seconds(faster, setup), before);
    faster = base;
    faster.accelerator.bytes_per_second *= 2;
    EXPECT_LT(seconds(faster, setup), before);
  }
}

TEST(StepEstimate, RecomputationCostsTimeAndSavesMemory) {
  const System system = system_called("dgx-a100").value();
  TrainingSetup setup = gpt_175b();
  double before_s = 0, before_bytes = 1e18;
  for (const Recompute each : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    setup.recompute = each;
    const auto step = estimate_step(system, setup).value();
    EXPECT_GT(step.seconds, before_s);
    EXPECT_LT(step.fullest().activations, before_bytes);
    before_s = step.seconds;
    before_bytes = step.fullest().activations;
  }
}

TEST(StepEstimate, OverlapNeverCostsTime) {
  const System system = system_called("dgx-a100").value();
  TrainingSetup setup = gpt_175b();
  setup.data = 4;
  setup.global_batch = 256;
  for (bool TrainingSetup::*option :
       {&TrainingSetup::overlap_gradients, &TrainingSetup::overlap_transfers,
        &TrainingSetup::overlap_weights, &TrainingSetup::overlap_tensor}) {
    const double before = seconds(system, setup);
    setup.*option = true;
    EXPECT_LT(seconds(system, setup), before);
  }
}

// Two exchanges of a layer's backward pass run beside products that take longer: of each, the
// slowdown of the product is left.
TEST(TransformerKernels, HideExchangesBesideProductsOfWeights) {
  System system = system_called("dgx-a100").value();
  system.accelerator.overlap_slowdown = 0.25;
  TrainingSetup setup = gpt_175b();
  const auto backward = [&] {
    return layer_backward(system, setup, LayerKind::kDense).time().device_s;
  };
  const double bytes = 2.0 * 2048 * 12288;
  const double exchange =
      system.fabric.collective(CollectiveKind::kAllReduce, bytes, {8, 1}).seconds();
  const double before = backward();
  setup.overlap_weights = true;
  EXPECT_NEAR(before - backward(), 2 * 0.75 * exchange, 1e-9 * before);
  // Without products of weights beside them, they are seen.
  setup.schedule = PipelineKind::kZbH1;
  EXPECT_NEAR(backward(), before, 1e-12 * before);
  setup.schedule = PipelineKind::k1F1B;
  setup.frozen = true;
  const double frozen = backward();
  setup.overlap_weights = false;
  EXPECT_EQ(backward(), frozen);
}

TEST(StepEstimate, GpipeHoldsAllMicroBatchesAndOneForwardOneBackwardAsManyAsStages) {
  const System system = free_links();
  TrainingSetup setup = equal_stages(4, 1);
  const auto activations = [&] { return estimate_step(system, setup)->stages.front().activations; };
  const double kept = activations() / 4;
  setup.schedule = PipelineKind::kGpipe;
  EXPECT_NEAR(activations() / kept, 16, 1e-9);
  EXPECT_NEAR(seconds(system, equal_stages(4, 1)), seconds(system, setup), 1e-12);
}

TEST(StepEstimate, TheSlowestDeviceSetsThePace) {
  System mixed = free_links();
  AcceleratorPool slow{mixed.accelerator, 0};
  for (double& peak : slow.accelerator.peak_flops_per_second) peak /= 2;
  mixed.pools = {{mixed.accelerator, 2}, slow};
  System slow_only = mixed;
  slow_only.pools = {slow};
  slow_only.accelerator = slow.accelerator;
  const TrainingSetup setup = equal_stages(4, 1);
  const double fast_s = seconds(free_links(), setup);
  const double mixed_s = seconds(mixed, setup);
  EXPECT_GT(mixed_s, 1.3 * fast_s);
  EXPECT_LT(mixed_s, seconds(slow_only, setup));
}

// The rest of a step with many layers is little.
TEST(StepEstimate, TakesAMeasuredLayerWhereAllSizesAreTheSame) {
  System system = free_links();
  TrainingSetup setup = equal_stages(1, 1);
  const double modelled = seconds(system, setup);
  const MeasuredLayer layer{.hidden = 8192, .heads = 64, .sequence = 2048, .seconds = 0.5};
  system.measured_layers = {layer};
  EXPECT_NEAR(seconds(system, setup) / (0.5 * 128 * 16), 1, 0.01);
  setup.pipeline = 4;  // a stage has a quarter of the layers, and 3 of 16 more passes are idle
  EXPECT_NEAR(seconds(system, setup) / (0.5 * 32 * 19), 1, 0.01);
  setup.pipeline = 1;
  for (const auto& change : std::vector<std::function<void(TrainingSetup&)>>{
           [](TrainingSetup& s) { s.micro_batch = 2; }, [](TrainingSetup& s) { s.tensor = 2; },
           [](TrainingSetup& s) { s.gated = true; }, [](TrainingSetup& s) { s.ffn = 1024; },
           [](TrainingSetup& s) { s.recompute = Recompute::kFull; },
           [](TrainingSetup& s) { s.sequence = 1024; }, [](TrainingSetup& s) { s.heads = 32; }}) {
    TrainingSetup other = setup;
    change(other);
    System without = system;
    without.measured_layers.clear();
    EXPECT_EQ(seconds(system, other), seconds(without, other));
  }
  EXPECT_NE(seconds(system, setup), modelled);
}

TEST(StepEstimate, SendsBetweenNodesTakeLonger) {
  System system = free_links();
  TrainingSetup setup = equal_stages(8, 1);
  const double inside = estimate_step(system, setup)->transfers_s;
  system.fabric.tiers[1].bytes_per_second = 1e9;
  EXPECT_EQ(estimate_step(system, setup)->transfers_s, inside);
  setup.pipeline = 16;  // one of 15 boundaries is between two nodes
  const double bytes = 2.0 * 2048 * 8192;
  const double send = system.fabric.transfer(bytes, 8).seconds();
  // The first micro-batch, and those that follow behind the slowest send, forward and backward.
  EXPECT_NEAR(estimate_step(system, setup)->transfers_s, 2 * send * 16, 1e-3 * send);
  setup.tensor = 2;  // as many between nodes as stages of eight ranks have
  setup.sequence_parallel = true;
  EXPECT_NEAR(estimate_step(system, setup)->transfers_s, 2 * send / 2 * (3 + 15), 1e-3 * send);
}

TEST(ChunkWork, TheFirstAndTheLastChunkHoldTheEmbeddingAndTheOutputLayer) {
  TrainingSetup setup = gpt_175b();
  const auto chunks = chunk_work(system_called("dgx-a100").value(), setup);
  ASSERT_EQ(chunks.size(), 8U);
  EXPECT_GT(chunks.front().parameters, chunks[1].parameters);
  EXPECT_EQ(chunks.front().parameters, chunks.back().parameters);
  EXPECT_GT(chunks.back().forward.device_s, chunks[1].forward.device_s);
  double parameters = 0;
  for (const ChunkWork& chunk : chunks) parameters += chunk.parameters * 8;
  // The tied embedding is held twice; normalizations are held by each of the eight tensor ranks.
  const double copied =
      7.0 * static_cast<double>(setup.layers) * setup.common_parameters(LayerKind::kDense);
  EXPECT_NEAR(parameters, setup.model_parameters() + 8 * setup.embedding_parameters() + copied,
              1e-9 * parameters);
}

}  // namespace
}  // namespace egret::parallel
