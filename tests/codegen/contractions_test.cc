// SPDX-License-Identifier: Apache-2.0
// Tiled contractions against the f64 interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/random.h"
#include "tests/codegen/kernel_batch.h"
#include "tests/codegen/needs_host_compiler.h"
#include "tests/codegen/sample_contractions.h"

namespace egret::backends::codegen {
namespace {

struct Tiling {
  const char* name;
  HostProcessor processor;
};

// Whether values inside round to f16 or bf16, where a sum that lies between two of them may go to
// either.
bool rounds(const ir::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const ir::Node& node) {
    return node.kind == ir::NodeKind::kOperator &&
           (node.type.dtype == ir::DType::kF16 || node.type.dtype == ir::DType::kBF16);
  });
}

class Contractions : public NeedsHostCompiler<::testing::TestWithParam<Tiling>> {};

// $EGRET_RANDOM_CONTRACTIONS of them, else 120.
TEST_P(Contractions, EqualTheInterpretersResult) {
  const char* given = std::getenv("EGRET_RANDOM_CONTRACTIONS");
  const std::uint64_t count = given != nullptr ? std::strtoull(given, nullptr, 10) : 120;
  constexpr std::uint64_t kBatch = 120;
  std::size_t tiled = 0;
  for (std::uint64_t first = 0; first < count; first += kBatch) {
    const ContractionOptions options{.least_products = 1, .processor = GetParam().processor};
    KernelBatch exact(Target::kHost, {}, options), rounded(Target::kHost, {}, options);
    for (std::uint64_t seed = first; seed < std::min(first + kBatch, count); ++seed) {
      const ir::Graph graph = random_contraction(seed);
      base::Random random(seed);
      std::vector<ir::Tensor> inputs;
      for (const ir::NodeId id : graph.inputs())
        inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
      KernelBatch& batch = rounds(graph) ? rounded : exact;
      batch.add(graph, std::move(inputs), "contraction of seed " + std::to_string(seed));
    }
    exact.check(2e-5);
    rounded.check(1e-2);
    for (const KernelBatch* batch : {&exact, &rounded}) {
      for (const KernelSource* kernel : batch->kernels()) tiled += kernel->is_tiled ? 1 : 0;
    }
  }
  std::cout << tiled << " of " << count << " in tiles\n";
  EXPECT_GT(tiled, count * 80 / 100);
}

// The second cuts every loop into blocks.
INSTANTIATE_TEST_SUITE_P(Processors, Contractions,
                         ::testing::Values(Tiling{"Avx512", {64, 32}},
                                           Tiling{"InSmallBlocks", {64, 32, 512, 2048, 4096, 2}},
                                           Tiling{"Avx2", {32, 16}},
                                           Tiling{"Avx2InSmallBlocks",
                                                  {32, 16, 256, 1024, 2048, 5}},
                                           Tiling{"Sse", {16, 16, 512, 4096, 4096}}),
                         [](const auto& tiling) { return tiling.param.name; });

}  // namespace
}  // namespace egret::backends::codegen
