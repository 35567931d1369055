// SPDX-License-Identifier: Apache-2.0
// Plans whose kernels pack constants once, and add up sums of parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "backends/backend.h"
#include "backends/codegen/host_compiler.h"
#include "backends/codegen/host_region.h"
#include "backends/codegen/regions.h"
#include "base/random.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/codegen/needs_host_compiler.h"

namespace egret::backends::codegen {
namespace {

using ir::Tensor;
using ir::TensorType;

class Phases : public NeedsHostCompiler<::testing::Test> {};

ir::Graph product_with_weights() {
  base::Random random(9);
  ir::GraphBuilder b;
  const auto x = b.input("x", TensorType(ir::DType::kF32, {64, 100}));
  const auto w = b.constant(Tensor::random(TensorType(ir::DType::kF32, {100, 90}), random));
  b.output("z", b.add("relu", {b.add("matmul", {x, w})}));
  auto graph = std::move(b).finish();
  EXPECT_TRUE(graph.ok());
  return *std::move(graph);
}

// Runs the region's kernel on random inputs, several times. Behind the first run, constants are
// gone: what is computed from them has been packed.
void check(const ir::Graph& graph, const Region& region, int threads) {
  ASSERT_TRUE(region.kernel.ok());
  const KernelSource* kernels[] = {&*region.kernel};
  const auto library = compile_for_host(source_of(kernels, Target::kHost));
  ASSERT_TRUE(library.ok()) << library.status().message();
  HostRegion loaded(graph, region, "phases");
  ASSERT_TRUE(loaded.load(*library));
  std::vector<Tensor> constants;  // by input of the region; empty for others
  for (const ir::NodeId id : region.inputs) {
    const ir::Node& node = graph.node(id);
    constants.push_back(node.kind == ir::NodeKind::kConstant ? node.data : Tensor());
  }
  for (std::uint64_t run = 0; run < 3; ++run) {
    base::Random random(run);
    std::vector<Tensor> inputs, values;
    for (const ir::NodeId id : graph.inputs())
      inputs.push_back(Tensor::random(graph.node(id).type, random));
    std::vector<const void*> addresses;
    for (std::size_t i = 0; i < region.inputs.size(); ++i) {
      const ir::NodeId id = region.inputs[i];
      const auto at = std::ranges::find(graph.inputs(), id) - graph.inputs().begin();
      const bool constant = graph.node(id).kind == ir::NodeKind::kConstant;
      if (constant && run > 0) std::ranges::fill(constants[i].mutable_data(), std::byte{0});
      addresses.push_back(constant ? constants[i].data().data()
                                   : inputs[static_cast<std::size_t>(at)].data().data());
    }
    Tensor output(graph.node(region.root()).type);
    const auto status = loaded.run(addresses, output.mutable_data().data(), threads);
    ASSERT_TRUE(status.ok()) << status.message();
    const auto expected = ir::interpret(graph, inputs);
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(difference(output, (*expected)[0], 2e-5), "") << "run " << run;
  }
}

TEST_F(Phases, PackConstantsOnceAndUseThemInEachRun) {
  const ir::Graph graph = product_with_weights();
  const auto regions = find_regions(graph, {.target = Target::kHost});
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_GT(regions[0].kernel->packing_steps, 0);
  for (const int threads : {1, 2}) check(graph, regions[0], threads);
}

// The gradient of weights: few sums of many terms.
TEST_F(Phases, AddUpPartsOfLongSums) {
  ir::GraphBuilder b;
  const auto x = b.input("x", TensorType(ir::DType::kF32, {20000, 12}));
  const auto y = b.input("y", TensorType(ir::DType::kF32, {20000, 16}));
  b.output("z", b.add("einsum", {x, y}, {{"equation", std::string("kr,kc->rc")}}));
  auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok());
  HostProcessor processor = HostProcessor::this_one();
  processor.threads = 8;
  std::vector<ir::NodeId> nodes;
  for (const ir::NodeId id : live_nodes(*graph)) {
    if (graph->node(id).kind == ir::NodeKind::kOperator) nodes.push_back(id);
  }
  const Region region = region_of(*graph, nodes, Target::kHost, {.processor = processor});
  ASSERT_TRUE(region.kernel.ok());
  EXPECT_EQ(region.kernel->partial_steps, 8);
  for (const int threads : {1, 2}) check(*graph, region, threads);
  // Alone, a thread gains nothing from parts.
  processor.threads = 1;
  EXPECT_EQ(region_of(*graph, nodes, Target::kHost, {.processor = processor}).kernel->partial_steps,
            0);
}

}  // namespace
}  // namespace egret::backends::codegen
