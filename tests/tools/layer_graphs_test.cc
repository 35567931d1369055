// SPDX-License-Identifier: Apache-2.0
// The kernels of layers from graphs, beside the lists that stand for the same.
#include "tools/arguments/layer_graphs.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "parallel/simulator/step_simulation.h"
#include "parallel/transformer/experts.h"
#include "parallel/transformer/training_memory.h"
#include "parallel/transformer/transformer_kernels.h"
#include "tests/tools/program_run.h"

namespace egret::tools {
namespace {

using parallel::Kernel;
using parallel::KernelKind;
using parallel::KernelList;
using parallel::LayerKernels;
using parallel::Recompute;
using parallel::TrainingSetup;

TrainingSetup gpt() {
  TrainingSetup setup;
  setup.layers = 4;
  setup.hidden = 1024;
  setup.heads = 16;
  setup.sequence = 512;
  setup.micro_batch = 2;
  setup.global_batch = 8;
  return setup;
}

struct Named {
  const char* name;
  TrainingSetup setup;
};

std::vector<Named> setups() {
  std::vector<Named> all = {{"one rank", gpt()}};
  const auto add = [&](const char* name, const std::function<void(TrainingSetup&)>& change) {
    all.push_back({name, gpt()});
    change(all.back().setup);
  };
  add("tensor", [](TrainingSetup& s) { s.tensor = 4; });
  add("sequence parallel", [](TrainingSetup& s) { s.tensor = 4, s.sequence_parallel = true; });
  add("no dropout", [](TrainingSetup& s) { s.no_dropout = true; });
  add("llama", [](TrainingSetup& s) {
    s.gated = s.no_dropout = true;
    s.kv_heads = 4;
    s.ffn = 2816;
  });
  add("wide heads", [](TrainingSetup& s) { s.head_width = 128; });
  add("ring", [](TrainingSetup& s) { s.context = 4; });
  add("ring of few keys", [](TrainingSetup& s) {
    s.context = s.tensor = 2;
    s.sequence_parallel = true;
    s.kv_heads = 4;
  });
  return all;
}

// With experts in every second layer.
std::vector<Named> expert_setups() {
  std::vector<Named> all;
  const auto add = [&](const char* name, const std::function<void(TrainingSetup&)>& change) {
    all.push_back({name, gpt()});
    all.back().setup.experts = 8;
    all.back().setup.expert_interval = 2;
    change(all.back().setup);
  };
  add("one rank", [](TrainingSetup&) {});
  add("capacity", [](TrainingSetup& s) { s.capacity_factor = 1.25, s.expert_skew = 0.5; });
  add("gated", [](TrainingSetup& s) {
    s.gated = s.no_dropout = true;
    s.expert_ffn = 512;
    s.top_k = 4;
  });
  add("expert parallel", [](TrainingSetup& s) { s.data = 4, s.expert_parallel = 4; });
  add("all experts apart", [](TrainingSetup& s) { s.data = 8, s.expert_parallel = 8; });
  add("shared experts", [](TrainingSetup& s) {
    s.tensor = s.data = 2;
    s.sequence_parallel = true;
    s.expert_parallel = 2;
    s.capacity_factor = 2;
  });
  for (auto& [name, setup] : all) setup.global_batch = 16 * setup.data;
  return all;
}

TrainingSetup from_graphs(TrainingSetup setup) {
  auto kernels = layer_kernels_of(setup);
  EXPECT_TRUE(kernels.ok()) << kernels.status().message();
  setup.layer_kernels = *kernels;
  return setup;
}

parallel::System a100() { return parallel::system_called("dgx-a100").value(); }

// The operations of products, by their number. Those of a ring's blocks together.
std::map<double, int> products(const KernelList& list) {
  std::map<double, int> result;
  for (const Kernel& kernel : list.kernels()) {
    if (kernel.kind == KernelKind::kMatmul) ++result[kernel.flops];
  }
  return result;
}

double seconds(const KernelList& list, KernelKind kind) {
  double sum = 0;
  for (const Kernel& kernel : list.kernels()) {
    if (kernel.kind == kind) sum += kernel.seconds;
  }
  return sum;
}

double flops(const KernelList& list) {
  double sum = 0;
  for (const Kernel& kernel : list.kernels()) sum += kernel.flops;
  return sum;
}

TEST(LayerGraphs, HaveTheProductsOfTheLists) {
  for (auto& [name, setup] : setups()) {
    for (const bool flash : {false, true}) {
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        setup.recompute = recompute;
        setup.flash_attention = flash;
        const TrainingSetup graphs = from_graphs(setup);
        const parallel::System system = a100();
        for (const auto& pass : {parallel::layer_forward, parallel::layer_backward})
          EXPECT_NEAR(flops(pass(system, graphs, {})) / flops(pass(system, setup, {})), 1, 1e-9)
              << name << ", flash " << flash << ", recompute " << static_cast<int>(recompute);
        if (setup.context > 1) continue;  // a graph has a product for each block
        EXPECT_EQ(products(layer_forward(system, graphs)), products(layer_forward(system, setup)))
            << name << ", flash " << flash;
        if (flash) continue;  // lists join the products of its backward pass
        EXPECT_EQ(products(layer_backward(system, graphs)), products(layer_backward(system, setup)))
            << name << ", recompute " << static_cast<int>(recompute);
      }
    }
  }
}

TEST(LayerGraphs, HaveTheExchangesOfTheLists) {
  for (auto& [name, setup] : setups()) {
    if (setup.context > 1) continue;  // see below
    const parallel::System system = a100();
    const TrainingSetup graphs = from_graphs(setup);
    for (const auto& pass : {parallel::layer_forward, parallel::layer_backward}) {
      EXPECT_DOUBLE_EQ(seconds(pass(system, graphs, {}), KernelKind::kCollective),
                       seconds(pass(system, setup, {}), KernelKind::kCollective))
          << name;
    }
  }
}

// A tensor rank's keys and values of the three other ranks, [b, s / 4, heads x d] of 16 bits each.
TEST(LayerGraphs, SendTheKeysAndValuesOfARing) {
  TrainingSetup setup = gpt();
  setup.context = 4;
  EXPECT_DOUBLE_EQ(from_graphs(setup).layer_kernels->attention.ring_bytes,
                   3 * 2 * (2.0 * 512 / 4 * 1024) * 2);
  // On slow links the exchange is seen, in the backward pass twice.
  parallel::System system = a100();
  system.fabric.tiers.front().bytes_per_second = 1e9;
  for (const bool flash : {false, true}) {
    setup.flash_attention = flash;
    const TrainingSetup graphs = from_graphs(setup);
    for (const auto& pass : {parallel::layer_forward, parallel::layer_backward}) {
      const double of_lists = seconds(pass(system, setup, {}), KernelKind::kCollective);
      EXPECT_GT(of_lists, 0);
      // Blocks are smaller products, which hide more.
      EXPECT_NEAR(seconds(pass(system, graphs, {}), KernelKind::kCollective) / of_lists, 1, 0.05);
    }
  }
}

TEST(LayerGraphs, HaveTheProductsAndExchangesOfExperts) {
  const parallel::System system = a100();
  for (auto& [name, setup] : expert_setups()) {
    ASSERT_TRUE(setup.check().ok()) << name << ": " << setup.check().message();
    for (const Recompute recompute : {Recompute::kNone, Recompute::kFull}) {
      setup.recompute = recompute;
      const TrainingSetup graphs = from_graphs(setup);
      for (const auto& pass : {parallel::layer_forward, parallel::layer_backward}) {
        const KernelList list = pass(system, setup, parallel::LayerKind::kExperts);
        const KernelList graph = pass(system, graphs, parallel::LayerKind::kExperts);
        EXPECT_EQ(products(graph), products(list)) << name;
        for (const KernelKind kind : {KernelKind::kCollective, KernelKind::kExpertExchange})
          EXPECT_DOUBLE_EQ(seconds(graph, kind), seconds(list, kind)) << name;
        EXPECT_NEAR(seconds(graph, KernelKind::kMemory) / seconds(list, KernelKind::kMemory), 1,
                    0.25)
            << name;
      }
    }
  }
}

// The fullest rank of a skewed choice has a fraction of a token more than the graph can have.
TEST(LayerGraphs, RoundTheRowsOfUnequalExpertsUp) {
  TrainingSetup setup = gpt();
  setup.experts = 8;
  setup.data = setup.expert_parallel = 4;
  setup.global_batch = 8;
  setup.expert_skew = 0.5;
  const double list = flops(layer_forward(a100(), setup, parallel::LayerKind::kExperts));
  const double graph =
      flops(layer_forward(a100(), from_graphs(setup), parallel::LayerKind::kExperts));
  const double row = 2 * 2 * 2.0 * 1024 * 4096;  // of both experts of the rank
  EXPECT_GE(graph, list);
  EXPECT_LE(graph, list + row);
}

// Rows before and behind the products, inner and active values, results, shares of the router, and
// tables of indices of 8 bytes.
TEST(LayerGraphs, KeepTheActivationsOfExperts) {
  for (auto& [name, setup] : expert_setups()) {
    const TrainingSetup graphs = from_graphs(setup);
    const LayerKernels& layer = *graphs.layer_kernels;
    const parallel::ExpertRows rows = parallel::expert_rows(setup);
    const double tokens = parallel::routed_tokens(setup);
    const auto choices = tokens * static_cast<double>(setup.top_k);
    const bool sorted = parallel::sorts_expert_rows(setup);
    double bytes = layer.route.kernels.kept_bytes + layer.experts.kernels.kept_bytes +
                   layer.combine.kernels.kept_bytes;
    bytes -= 2 * tokens * 1024;                       // y, of both halves of the layer
    bytes -= choices * 8 + rows.sent * 8;             // best, token of row
    bytes -= choices * (8 + 2 * 4);                   // row of choice, parts in two segments
    if (setup.capacity_factor > 0) bytes -= choices;  // has a place
    if (sorted) bytes -= 2 * rows.computed * 8;       // order, and back
    const TrainingSetup dense = [&] {
      TrainingSetup other = setup;
      other.experts = 0;
      return other;
    }();
    const double half = parallel::layer_activation_bytes(dense) -
                        (setup.gated ? 3 : 2) * 2 * tokens * static_cast<double>(setup.ffn_size()) *
                            (setup.sequence_parallel ? static_cast<double>(setup.tensor) : 1) /
                            static_cast<double>(setup.tensor);
    const double list =
        parallel::layer_activation_bytes(setup, parallel::LayerKind::kExperts) - half;
    EXPECT_NEAR(bytes / list, 1, 1e-9) << name;
  }
}

// Products of the loss, sums over the tensor group, and bytes of the passes over logits.
TEST(LayerGraphs, HaveTheEmbeddingAndTheLossOfTheLists) {
  const parallel::System system = a100();
  for (auto& [name, setup] : setups()) {
    const TrainingSetup graphs = from_graphs(setup);
    for (const auto& pass : {parallel::head_forward, parallel::head_backward,
                             parallel::embedding_forward, parallel::embedding_backward}) {
      EXPECT_EQ(products(pass(system, graphs)), products(pass(system, setup))) << name;
      EXPECT_DOUBLE_EQ(seconds(pass(system, graphs), KernelKind::kCollective),
                       seconds(pass(system, setup), KernelKind::kCollective))
          << name;
    }
    // The first normalization belongs to the start instead of the loss. Lists leave out gradients
    // of positions.
    const auto memory = [&](const TrainingSetup& of, auto first, auto second) {
      return seconds(first(system, of), KernelKind::kMemory) +
             seconds(second(system, of), KernelKind::kMemory);
    };
    EXPECT_NEAR(memory(graphs, parallel::head_forward, parallel::embedding_forward) /
                    memory(setup, parallel::head_forward, parallel::embedding_forward),
                1, 0.05)
        << name;
    EXPECT_NEAR(memory(graphs, parallel::head_backward, parallel::embedding_backward) /
                    memory(setup, parallel::head_backward, parallel::embedding_backward),
                1, 0.1)
        << name;
  }
}

// y of 16 bits, exponentials of 32, and of each token the sum of other ranks, its own sum, a
// target and whether it is here.
TEST(LayerGraphs, KeepTheActivationsOfTheLoss) {
  for (const std::int64_t tensor : {1, 4}) {
    TrainingSetup setup = gpt();
    setup.tensor = tensor;
    const double tokens = 2 * 512;
    EXPECT_DOUBLE_EQ(
        from_graphs(setup).layer_kernels->loss.kernels.kept_bytes,
        tokens * (2 * 1024 + 4 * 51200.0 / static_cast<double>(tensor)) + tokens * (4 + 4 + 8 + 1));
  }
}

// The lists leave out biases, sums of their gradients, and the sum of a ring's blocks.
TEST(LayerGraphs, MoveTheBytesOfTheLists) {
  for (auto& [name, setup] : setups()) {
    for (const bool flash : {false, true}) {
      setup.flash_attention = flash;
      const parallel::System system = a100();
      const TrainingSetup graphs = from_graphs(setup);
      EXPECT_NEAR(seconds(layer_forward(system, graphs), KernelKind::kMemory) /
                      seconds(layer_forward(system, setup), KernelKind::kMemory),
                  1, setup.context > 1 ? 0.2 : 0.1)
          << name << ", flash " << flash;
      EXPECT_NEAR(seconds(layer_backward(system, graphs), KernelKind::kMemory) /
                      seconds(layer_backward(system, setup), KernelKind::kMemory),
                  1, 0.25)
          << name << ", flash " << flash;
    }
  }
}

// What lies between the products of attention grows with the square of the sequence, and stays on
// the chip.
TEST(LayerGraphs, MoveNoScoresOfFlashAttention) {
  TrainingSetup setup = gpt();
  setup.flash_attention = true;
  for (const std::int64_t context : {1, 4}) {
    setup.context = context;
    double bytes[2];
    for (const int longer : {0, 1}) {
      setup.sequence = 2048 << longer;
      const KernelList list = layer_backward(a100(), from_graphs(setup));
      bytes[longer] = seconds(list, KernelKind::kMemory);
    }
    EXPECT_LE(bytes[1], 2 * bytes[0]) << context;
  }
}

// Korthikanti et al. (2022), equations 1 and 4: bytes a layer keeps for the backward pass.
TEST(LayerGraphs, KeepTheActivationsOfThePaper) {
  for (const std::int64_t tensor : {1, 4}) {
    TrainingSetup setup = gpt();
    setup.tensor = tensor;
    setup.sequence_parallel = tensor > 1;
    const auto kernels = layer_kernels_of(setup);
    ASSERT_TRUE(kernels.ok()) << kernels.status().message();
    const LayerKernels& layer = **kernels;
    double bytes = layer.attention.kernels.kept_bytes + 2 * layer.join.kernels.kept_bytes +
                   layer.feed_forward.kernels.kept_bytes;
    const double s = 512, b = 2, h = 1024, a = 16, t = static_cast<double>(tensor);
    // The paper keeps the inputs of the tensor regions as parts, and gathers them again.
    bytes -= 2 * 2 * s * b * h * (1 - 1 / t);
    EXPECT_NEAR(bytes / (s * b * h / t * (34 + 5 * a * s / h)), 1, 1e-9) << tensor;
  }
}

TEST(LayerGraphs, PriceAStepAsTheListsDo) {
  for (auto& [name, setup] : setups()) {
    parallel::System system = a100();
    // A list has the products of all blocks of a ring as one, which the host issues at once.
    if (setup.context > 1) system.accelerator.host_seconds_per_kernel = 0;
    const auto lists = parallel::simulate_step(system, setup);
    const auto graphs = parallel::simulate_step(system, from_graphs(setup));
    ASSERT_TRUE(lists.ok() && graphs.ok());
    EXPECT_NEAR(graphs->seconds / lists->seconds, 1, 0.1) << name;
    EXPECT_NE(graphs->seconds, lists->seconds) << name;
  }
}

TEST(LayerGraphs, PriceAStepWithExpertsAsTheListsDo) {
  for (auto& [name, setup] : expert_setups()) {
    const auto lists = parallel::simulate_step(a100(), setup);
    const auto graphs = parallel::simulate_step(a100(), from_graphs(setup));
    ASSERT_TRUE(lists.ok() && graphs.ok());
    EXPECT_NEAR(graphs->seconds / lists->seconds, 1, 0.1) << name;
  }
}

}  // namespace
}  // namespace egret::tools
