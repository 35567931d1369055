// SPDX-License-Identifier: Apache-2.0
// Tiled contractions against the f64 interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "backends/codegen/contractions/amx.h"
#include "backends/codegen/host_compiler.h"
#include "base/random.h"
#include "ir/graph/builder.h"
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

class Contractions : public NeedsHostCompiler<::testing::TestWithParam<Tiling>> {
 protected:
  void SetUp() override {
    NeedsHostCompiler::SetUp();
    const int here = HostProcessor::this_one().vector_bytes;
    if (GetParam().processor.vector_bytes > here)
      GTEST_SKIP() << "this processor's vectors have " << here << " bytes";
  }
};

struct Counts {
  std::size_t tiled = 0, slide = 0, pairs = 0, amx = 0, packed_once = 0, in_parts = 0;
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
        counts.pairs += kernel->groups.any() ? 1 : 0;
        counts.packed_once += kernel->packing_steps > 0 ? 1 : 0;
        counts.in_parts += kernel->partial_steps > 0 ? 1 : 0;
        counts.amx += kernel->groups.in_tiles ? 1 : 0;
      }
    }
  }
  std::cout << counts.tiled << " of " << count << " in tiles, " << counts.slide << " slide, "
            << counts.pairs << " in groups of terms, " << counts.amx << " for AMX, "
            << counts.packed_once << " pack constants once, " << counts.in_parts
            << " add up parts\n";
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

// Bytes without a sign by bytes with one (vpdpbusd).
TEST_P(Contractions, OfQuadsEqualTheInterpretersResult) {
  const std::uint64_t count = random_count();
  HostProcessor processor = GetParam().processor;
  processor.has_int8_quads = true;
  EXPECT_GT(compare(count / 2, processor, random_fragments).pairs, count / 2 * 8 / 100);
}

// Constants are packed by the first steps, which other runs leave out.
TEST_P(Contractions, OfConstantsEqualTheInterpretersResult) {
  const std::uint64_t count = random_count();
  HostProcessor processor = GetParam().processor;
  processor.has_bf16_pairs = processor.has_int8_quads = true;
  EXPECT_GT(compare(count, processor, random_with_constants).packed_once, count * 30 / 100);
}

// More threads than blocks of rows and columns.
TEST_P(Contractions, InPartsEqualTheInterpretersResult) {
  const std::uint64_t count = random_count() / 2;
  HostProcessor processor = GetParam().processor;
  processor.threads = 24;
  processor.least_part = 2;
  EXPECT_GT(compare(count, processor, random_contraction).in_parts, count * 30 / 100);
  EXPECT_GT(compare(count, processor, random_with_constants).in_parts, count * 30 / 100);
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

class AmxContractions : public Contractions {};

HostProcessor with_amx(HostProcessor processor) {
  processor.has_bf16_tiles = processor.has_int8_tiles = true;
  return processor;
}

// A processor without AMX computes the same tiles in loops.
TEST_P(AmxContractions, EqualTheInterpretersResult) {
  const std::uint64_t count = random_count() / 2;
  const HostProcessor processor = with_amx(GetParam().processor);
  EXPECT_GT(compare(count, processor, random_fragments).amx, count * 30 / 100);
  EXPECT_GT(compare(count / 4, processor, random_fragments, 1).amx, count / 4 * 30 / 100);
}

INSTANTIATE_TEST_SUITE_P(Processors, AmxContractions,
                         ::testing::Values(Tiling{"Whole", {64, 32}},
                                           Tiling{"InSmallBlocks", {64, 32, 512, 2048, 4096, 2}}),
                         [](const auto& tiling) { return tiling.param.name; });

// The same text with the instructions is what a compiler for such a processor takes.
TEST(Amx, TheInstructionsAssemble) {
  if (!host_compiler_version().ok()) GTEST_SKIP() << host_compiler_version().status().message();
  using ir::DType;
  KernelBatch batch(Target::kHost, {}, {.processor = with_amx({64, 32})});
  const auto add = [&](DType left, DType right, const char* instruction) {
    ir::GraphBuilder b;
    const std::string wide = left == DType::kBF16 ? "f32" : "i32";
    const ir::TensorType types[] = {{left, {40, 70}}, {right, {70, 50}}};
    const ir::Value x = b.add("cast", {b.input("x", types[0])}, {{"to", wide}});
    const ir::Value y = b.add("cast", {b.input("y", types[1])}, {{"to", wide}});
    b.output("z", b.add("matmul", {x, y}));
    const auto graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    batch.add(*graph, {ir::Tensor(types[0]), ir::Tensor(types[1])}, instruction);
    EXPECT_NE(batch.kernels().back()->text.find(instruction), std::string::npos) << instruction;
  };
  add(DType::kBF16, DType::kBF16, "EGRET_TILE_BF16(3, 5, 7)");
  add(DType::kI8, DType::kI8, "EGRET_TILE_S8S8(3, 5, 7)");
  add(DType::kI8, DType::kU8, "EGRET_TILE_S8U8(3, 5, 7)");
  add(DType::kU8, DType::kI8, "EGRET_TILE_U8S8(3, 5, 7)");
  add(DType::kU8, DType::kU8, "EGRET_TILE_U8U8(3, 5, 7)");
  const auto library = compile_for_host(batch.emitted(), "-mamx-tile -mamx-bf16 -mamx-int8");
  EXPECT_TRUE(library.ok()) << library.status().message();
}

TEST(Amx, IsWhatTheProcessorHasAndTheSystemPermits) {
  constexpr std::uint32_t kBF16 = 1U << 22, kTiles = 1U << 24, kInt8 = 1U << 25;
  int asked = 0;
  const auto permits = [&] { return ++asked > 0; };
  const auto refuses = [&] { return ++asked < 0; };
  AmxSupport support = amx_support(kBF16 | kInt8, permits);
  EXPECT_FALSE(support.bf16 || support.int8);
  EXPECT_EQ(asked, 0) << "there are no tiles to ask for";
  support = amx_support(kBF16 | kTiles | kInt8, refuses);
  EXPECT_FALSE(support.bf16 || support.int8);
  EXPECT_EQ(asked, 1);
  support = amx_support(kBF16 | kTiles | kInt8, permits);
  EXPECT_TRUE(support.bf16 && support.int8);
  support = amx_support(kTiles | kInt8, permits);
  EXPECT_TRUE(!support.bf16 && support.int8);
  support = amx_support(kTiles | kBF16, permits);
  EXPECT_TRUE(support.bf16 && !support.int8);
}

}  // namespace
}  // namespace egret::backends::codegen
