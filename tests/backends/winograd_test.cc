// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends::cpu {
namespace {

using ir::Integers;

// Convolutions of 3x3 windows, one after the other, all with as many channels.
ir::Graph convolutions(std::int64_t channels, std::int64_t side, std::int64_t dilation, int count,
                       std::int64_t batch = 1) {
  ir::GraphBuilder b;
  base::Random random(5);
  const auto tensor = [](const ir::Shape& shape) { return ir::TensorType(ir::DType::kF32, shape); };
  ir::Value x = b.input("x", tensor({batch, channels, side, side}));
  for (int i = 0; i < count; ++i) {
    const ir::Value w = b.constant(ir::Tensor::random(tensor({channels, channels, 3, 3}), random));
    x = b.add("relu", {b.add("conv", {x, w},
                             {{"strides", Integers{1, 1}},
                              {"dilations", Integers(2, dilation)},
                              {"pads", Integers(4, dilation)},
                              {"group", std::int64_t{1}}})});
  }
  b.output("y", x);
  auto graph = b.finish();
  EXPECT_TRUE(graph.ok());
  return *std::move(graph);
}

bool large_tiles(const PlanReport& report) {
  return std::ranges::any_of(
      report.kernels, [](const auto& kernel) { return has_large_tiles(kernel.implementation); });
}

TEST(WinogradBudget, IsAtLeastWhatDoesNotMatter) {
  WinogradBudget budget(convolutions(16, 8, 1, 1), true);
  EXPECT_FALSE(budget.spend(8 << 20, 1));
  EXPECT_TRUE(budget.spend(4 << 20, 4 << 20));
  EXPECT_FALSE(budget.spend(1, 0));
}

TEST(WinogradBudget, GrowsWithWeightsAndValues) {
  constexpr std::int64_t kWeights = 512 * 512 * 9 * 4;  // bytes
  constexpr std::int64_t kValue = 512 * 14 * 14 * 4;
  WinogradBudget budget(convolutions(512, 14, 1, 2), true);
  EXPECT_FALSE(budget.spend(2 * kWeights + 2 * kWeights / 4 + kValue / 2 + 1, 0));
  EXPECT_TRUE(budget.spend(2 * kWeights + 2 * kWeights / 4 + kValue / 2, 0));
}

TEST(WinogradBudget, CountsTheLargestScratchOnce) {
  WinogradBudget budget(convolutions(16, 8, 1, 1), true);
  EXPECT_TRUE(budget.spend(0, 6 << 20));
  EXPECT_TRUE(budget.spend(0, 6 << 20));
  EXPECT_TRUE(budget.spend(1 << 20, 7 << 20));
  EXPECT_FALSE(budget.spend(0, 8 << 20));
}

TEST(WinogradBudget, TakesNoScratchThatIsMuchOfThePlan) {
  constexpr std::int64_t kWeights = 512 * 512 * 9 * 4;  // bytes
  constexpr std::int64_t kValue = 512 * 14 * 14 * 4;
  constexpr std::int64_t kMost = 4 * kWeights * 3 / 10 + kValue;
  WinogradBudget budget(convolutions(512, 14, 1, 4), true);
  EXPECT_FALSE(budget.spend(0, kMost + 1));
  EXPECT_TRUE(budget.spend(0, kMost));
}

TEST(WinogradBudget, HasNoEndWithoutThrift) {
  WinogradBudget budget(convolutions(16, 8, 1, 1), false);
  EXPECT_TRUE(budget.spend(std::int64_t{1} << 50, std::int64_t{1} << 50));
}

TEST(Winograd, LargeTilesNeedChannelsAndPixels) {
  constexpr const char* kLarge = "jit_wino_4x3:avx512_core";
  ASSERT_TRUE(has_large_tiles(kLarge));
  EXPECT_TRUE(winograd_pays(kLarge, 64, 28 * 28));
  EXPECT_FALSE(winograd_pays(kLarge, 32, 147 * 147));
  EXPECT_FALSE(winograd_pays(kLarge, 512, 14 * 16));
}

TEST(Winograd, SmallTilesLoseTheirFewPixelsToFastProductsAlone) {
  constexpr const char* kSmall = "jit:avx512_core_fp32_wino_2x3";
  ASSERT_FALSE(has_large_tiles(kSmall));
  EXPECT_TRUE(winograd_pays(kSmall, 32, 28 * 28));
  EXPECT_EQ(winograd_pays(kSmall, 448, 8 * 8), !has_two_product_units());
}

// Where the processor has such kernels at all, a plan without thrift takes them, and more memory.
TEST(Winograd, LargeTilesAreRefusedWhereTheyMultiplyTheMemory) {
  const ir::Graph graph = convolutions(512, 22, 1, 1);
  const auto thrifty = find_backend("cpu")->compile(graph, {.threads = 1});
  const auto fast = find_backend("cpu")->compile(graph, {.threads = 1, .thrift = false});
  ASSERT_TRUE(thrifty.ok() && fast.ok());
  if (!large_tiles((*fast)->report())) GTEST_SKIP() << "no kernels with tiles of 4x4";
  EXPECT_FALSE(large_tiles((*thrifty)->report()));
  EXPECT_LT((*thrifty)->report().weights_bytes + (*thrifty)->report().arena_bytes,
            (*fast)->report().weights_bytes + (*fast)->report().arena_bytes);
}

// Phases of an image with so many pixels are computed by large tiles on any processor that has
// them.
TEST(Winograd, DilatedWindowsByLargeTilesComputeTheSame) {
  const ir::Graph graph = convolutions(64, 16, 2, 1, 8);
  const PlanReport report = expect_matches_reference(graph, 3, 1e-5);
  if (!large_tiles(report)) GTEST_SKIP() << "no kernels with tiles of 4x4";
}

}  // namespace
}  // namespace egret::backends::cpu
