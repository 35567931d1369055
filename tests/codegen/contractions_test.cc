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

struct Counts {
  std::size_t tiled = 0, slide = 0, pairs = 0;
};

// Compiles and runs `count` kernels of `make`'s graphs.
Counts compare(std::uint64_t count, const HostProcessor& processor,
               ir::Graph (*make)(std::uint64_t seed), int tiles = 0) {
  constexpr std::uint64_t kBatch = 120;
  Counts counts;
  for (std::uint64_t first = 0; first < count; first += kBatch) {
    const ContractionOptions options{.least_products = 1, .processor = processor, .tiles = tiles};
    KernelBatch exact(Target::kHost, {}, options), rounded(Target::kHost, {}, options);
    for (std::uint64_t seed = first; seed < std::min(first + kBatch, count); ++seed) {
      const ir::Graph graph = make(seed);
      base::Random random(seed);
      std::vector<ir::Tensor> inputs;
      for (const ir::NodeId id : graph.inputs())
        inputs.push_back(ir::Tensor::random(graph.node(id).type, random));
      KernelBatch& batch = rounds(graph) ? rounded : exact;
      batch.add(graph, std::move(inputs), "contraction of seed " + std::to_string(seed));
    }
    exact.check(2e-5);
    rounded.check(2e-2);  // two roundings of values up to 4
    for (const KernelBatch* batch : {&exact, &rounded}) {
      for (const KernelSource* kernel : batch->kernels()) {
        counts.tiled += kernel->is_tiled ? 1 : 0;
        counts.slide += kernel->slides ? 1 : 0;
        counts.pairs += kernel->pairs != Pairs::kNone ? 1 : 0;
      }
    }
  }
  std::cout << counts.tiled << " of " << count << " in tiles, " << counts.slide << " slide, "
            << counts.pairs << " in pairs\n";
  return counts;
}

// $EGRET_RANDOM_CONTRACTIONS, else 120.
std::uint64_t random_count() {
  const char* given = std::getenv("EGRET_RANDOM_CONTRACTIONS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 120;
}

TEST_P(Contractions, EqualTheInterpretersResult) {
  const std::uint64_t count = random_count();
  EXPECT_GT(compare(count, GetParam().processor, random_contraction).tiled, count * 80 / 100);
}

TEST_P(Contractions, OfDepthwiseConvolutionsEqualTheInterpretersResult) {
  const std::uint64_t count = random_count();
  EXPECT_GT(compare(count, GetParam().processor, random_depthwise).slide, count * 60 / 100);
}

TEST_P(Contractions, OfPairsEqualTheInterpretersResult) {
  const std::uint64_t count = random_count();
  HostProcessor processor = GetParam().processor;
  processor.has_bf16_pairs = processor.has_int16_pairs = true;
  // The others slide, or wrap around in their narrow type.
  EXPECT_GT(compare(count, processor, random_narrow).pairs, count * 40 / 100);
}

// Of other tiles than the model's, which measurements may prefer.
TEST_P(Contractions, InOtherTilesEqualTheInterpretersResult) {
  const std::uint64_t count = random_count() / 4;
  for (const int tiles : {1, 4}) {
    EXPECT_GT(compare(count, GetParam().processor, random_contraction, tiles).tiled,
              count * 80 / 100);
    EXPECT_GT(compare(count, GetParam().processor, random_depthwise, tiles).slide,
              count * 50 / 100);
  }
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
