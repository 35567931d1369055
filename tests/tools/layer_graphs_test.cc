// SPDX-License-Identifier: Apache-2.0
// The kernels of layers from graphs, beside the lists that stand for the same.
#include "tools/arguments/layer_graphs.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "parallel/simulator/step_simulation.h"
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
  return all;
}

TrainingSetup from_graphs(TrainingSetup setup) {
  auto kernels = layer_kernels_of(setup);
  EXPECT_TRUE(kernels.ok()) << kernels.status().message();
  setup.layer_kernels = *kernels;
  return setup;
}

parallel::System a100() { return parallel::system_called("dgx-a100").value(); }

// The operations of products, by their number, rounded.
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

TEST(LayerGraphs, HaveTheProductsOfTheLists) {
  for (auto& [name, setup] : setups()) {
    for (const bool flash : {false, true}) {
      for (const Recompute recompute :
           {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        setup.recompute = recompute;
        setup.flash_attention = flash;
        const TrainingSetup graphs = from_graphs(setup);
        const parallel::System system = a100();
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
    const parallel::System system = a100();
    const TrainingSetup graphs = from_graphs(setup);
    for (const auto& pass : {parallel::layer_forward, parallel::layer_backward}) {
      EXPECT_DOUBLE_EQ(seconds(pass(system, graphs, {}), KernelKind::kCollective),
                       seconds(pass(system, setup, {}), KernelKind::kCollective))
          << name;
    }
  }
}

// The lists leave out biases and sums of their gradients.
TEST(LayerGraphs, MoveTheBytesOfTheLists) {
  for (auto& [name, setup] : setups()) {
    const parallel::System system = a100();
    const TrainingSetup graphs = from_graphs(setup);
    EXPECT_NEAR(seconds(layer_forward(system, graphs), KernelKind::kMemory) /
                    seconds(layer_forward(system, setup), KernelKind::kMemory),
                1, 0.1)
        << name;
    EXPECT_NEAR(seconds(layer_backward(system, graphs), KernelKind::kMemory) /
                    seconds(layer_backward(system, setup), KernelKind::kMemory),
                1, 0.25)
        << name;
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
    const auto lists = parallel::simulate_step(a100(), setup);
    const auto graphs = parallel::simulate_step(a100(), from_graphs(setup));
    ASSERT_TRUE(lists.ok() && graphs.ok());
    EXPECT_NEAR(graphs->seconds / lists->seconds, 1, 0.1) << name;
    EXPECT_NE(graphs->seconds, lists->seconds) << name;
  }
}

TEST(LayerGraphs, AreRefusedForExperts) {
  TrainingSetup setup = gpt();
  setup.experts = 8;
  EXPECT_EQ(layer_kernels_of(setup).status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::tools
