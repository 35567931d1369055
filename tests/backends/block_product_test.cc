// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/block_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/cpu/loops/product_tiles.h"
#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends::cpu {
namespace {

ir::TensorType f32(const ir::Shape& shape) { return {ir::DType::kF32, shape}; }

int count_of(const PlanReport& report, const std::string& implementation) {
  return static_cast<int>(
      std::ranges::count(report.kernels, implementation, &PlanReport::Kernel::implementation));
}

struct Sizes {
  std::int64_t rows, depth, columns;
};

// Where the processor takes products of so many rows by tiles: with AVX2, where oneDNN's rows share
// sets of the cache.
bool has_tiles(const Sizes& sizes) {
  ir::GraphBuilder b;
  base::Random random(1);
  const ir::Value x = b.input("x", f32({sizes.rows, sizes.depth}));
  const ir::Value product = b.add(
      "matmul", {x, b.constant(ir::Tensor::random(f32({sizes.depth, sizes.columns}), random))});
  b.output("y", product);
  const ir::Graph graph = *b.finish();
  return is_block_product(graph, graph.outputs()[0].node, Precision::kF32);
}

class BlockProduct : public testing::TestWithParam<Sizes> {};

ir::Graph plain(const Sizes& sizes) {
  ir::GraphBuilder b;
  base::Random random(3);
  const ir::Value x = b.input("x", f32({sizes.rows, sizes.depth}));
  const ir::Value w = b.constant(ir::Tensor::random(f32({sizes.depth, sizes.columns}), random));
  b.output("y", b.add("matmul", {x, w}));
  return *b.finish();
}

// x w + bias, then an activation that reads it three times, and a residual.
ir::Graph with_operators(const Sizes& sizes) {
  ir::GraphBuilder b;
  base::Random random(3);
  const auto constant = [&](const ir::Shape& shape) {
    return b.constant(ir::Tensor::random(f32(shape), random));
  };
  const ir::Value x = b.input("x", f32({1, sizes.rows, sizes.depth}));
  const ir::Value residual = b.input("residual", f32({1, sizes.rows, sizes.columns}));
  const ir::Value product = b.add(
      "add",
      {b.add("matmul", {x, constant({sizes.depth, sizes.columns})}), constant({sizes.columns})});
  const ir::Value cube = b.add("mul", {b.add("mul", {product, product}), product});
  const ir::Value gate = b.add("tanh", {b.add("mul", {cube, constant({1})})});
  b.output("y", b.add("add", {b.add("mul", {product, gate}), residual}));
  return *b.finish();
}

TEST_P(BlockProduct, ComputesWhatTheInterpreterDoes) {
  const PlanReport report = expect_matches_reference(plain(GetParam()), 7, 1e-4);
  EXPECT_EQ(count_of(report, "own:tiles"), has_tiles(GetParam()) ? 1 : 0);
}

TEST_P(BlockProduct, TakesOperatorsThatReadItSeveralTimes) {
  const PlanReport report = expect_matches_reference(with_operators(GetParam()), 7, 1e-4);
  if (!has_tiles(GetParam()))
    GTEST_SKIP() << "products by tiles are left to oneDNN on this processor";
  EXPECT_EQ(count_of(report, "own:tiles"), 1);
  EXPECT_EQ(report.kernels.size(), 1U);
}

// Fewer rows than a tile, parts of tiles, panels, runs of the depth and groups, several blocks.
INSTANTIATE_TEST_SUITE_P(Sizes, BlockProduct,
                         testing::Values(Sizes{9, 64, 64}, Sizes{12, 192, 512}, Sizes{13, 193, 33},
                                         Sizes{128, 100, 513}, Sizes{150, 520, 1100},
                                         Sizes{300, 300, 96}, Sizes{700, 64, 600},
                                         Sizes{70, 200, 1024}));

// y = x w + tanh z, with w as an input, or turned.
ir::Graph of_computed(const Sizes& sizes, bool turned) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", f32({sizes.rows, sizes.depth}));
  ir::Value w =
      b.input("w", turned ? f32({sizes.columns, sizes.depth}) : f32({sizes.depth, sizes.columns}));
  if (turned) w = b.add("transpose", {w}, {{"perm", ir::Integers{1, 0}}});
  const ir::Value z = b.input("z", f32({sizes.rows, sizes.columns}));
  b.output("y", b.add("add", {b.add("matmul", {x, w}), b.add("tanh", {z})}));
  return *b.finish();
}

TEST(BlockProduct, PacksComputedMatricesInEachRun) {
  for (const Sizes& sizes : {Sizes{9, 8, 512}, Sizes{16, 16, 4096}, Sizes{40, 200, 1024}}) {
    for (const bool turned : {false, true}) {
      const PlanReport report = expect_matches_reference(of_computed(sizes, turned), 7, 1e-4);
      if (tile_functions() == nullptr || has_whole_tiles()) continue;
      EXPECT_EQ(count_of(report, "own:tiles"), 1);
      EXPECT_EQ(std::ranges::count(report.kernels, "reorder", &PlanReport::Kernel::name), 0);
    }
  }
}

// A matrix is a factor and an operand behind the product: its memory cannot take the result.
TEST(BlockProduct, KeepsAMatrixThatOtherBlocksRead) {
  ir::GraphBuilder b;
  const ir::Value x = b.add("tanh", {b.input("x", f32({256, 256}))});
  const ir::Value w = b.add("tanh", {b.input("w", f32({256, 512}))});
  b.output("y", b.add("add", {b.add("matmul", {x, w}), w}));
  expect_matches_reference(*b.finish(), 7, 1e-4);
}

// Its value is read by something else too: the operators behind it stay outside.
TEST(BlockProduct, LeavesOperatorsWhoseOperandsAreSeenOutside) {
  ir::GraphBuilder b;
  base::Random random(3);
  const ir::Value x = b.input("x", f32({300, 64}));
  const ir::Value w = b.constant(ir::Tensor::random(f32({64, 64}), random));
  const ir::Value product = b.add("matmul", {x, w});
  b.output("y", b.add("mul", {product, b.add("tanh", {product})}));
  b.output("product", product);
  const PlanReport report = expect_matches_reference(*b.finish(), 7, 1e-4);
  EXPECT_EQ(report.kernels.size(), 2U);
}

TEST(BlockProduct, IsNoneInLessPrecision) {
  const ir::Graph graph = plain({64, 64, 64});
  EXPECT_FALSE(is_block_product(graph, graph.outputs()[0].node, Precision::kBF16));
}

// A tile, alone and added to a result, against sums in f64.
void expect_product(const TileFunction& tile, std::int64_t rows, std::int64_t columns,
                    std::int64_t stride) {
  base::Random random(11);
  constexpr std::int64_t kDepth = 37;
  const auto numbers = [&](std::int64_t count) { return ir::Tensor::random(f32({count}), random); };
  const ir::Tensor left = numbers(kTileRows * kLeftStride);
  const ir::Tensor panel = numbers(kDepth * columns);
  std::vector<float> result(static_cast<std::size_t>(kTileRows * kResultStride), 7.0F);
  for (const bool adds : {false, true}) {
    tile({.left = left.as<float>().data(),
          .panel = panel.as<float>().data(),
          .depth = kDepth,
          .result = result.data(),
          .adds = adds,
          .next = panel.as<float>().data(),
          .stride = stride});
  }
  for (std::int64_t r = 0; r < kTileRows; ++r) {
    for (std::int64_t c = 0; c < kTileColumns; ++c) {
      double sum = 0;
      for (std::int64_t k = 0; k < kDepth && c < columns; ++k)
        sum += double{left.as<float>()[static_cast<std::size_t>(r * kLeftStride + k)]} *
               panel.as<float>()[static_cast<std::size_t>(k * columns + c)];
      EXPECT_NEAR(result[static_cast<std::size_t>(r * kResultStride + c)],
                  r < rows && c < columns ? 2 * sum : 7.0, 1e-4);
    }
  }
}

// Each shape, bringing on less and more than a line at a time.
TEST(ProductTiles, AreProducts) {
  const TileFunctions* tiles = tile_functions();
  if (tiles == nullptr) GTEST_SKIP() << "neither AVX-512 nor AVX2";
  for (std::size_t vectors = 1; vectors < tiles->size(); ++vectors) {
    for (std::size_t rows = 1; rows < (*tiles)[vectors].size(); ++rows) {
      for (const std::int64_t stride : {5, 48}) {
        SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(vectors) + " vectors");
        expect_product((*tiles)[vectors][rows], static_cast<std::int64_t>(rows),
                       static_cast<std::int64_t>(vectors) * kTileLanes, stride);
      }
    }
  }
}

}  // namespace
}  // namespace egret::backends::cpu
