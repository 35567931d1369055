// SPDX-License-Identifier: Apache-2.0
// How a kernel's work is shared out to the threads of a GPU, how it is counted, and which operators
// one kernel computes for it.
#include <gtest/gtest.h>

#include "backends/codegen/regions.h"
#include "ir/graph/builder.h"

namespace egret::backends::codegen {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Value;

constexpr std::int64_t kManyRows = 40'000;  // more than the GPU has blocks of threads for at once

template <typename Define>
ir::Graph graph_of(const Define& define) {
  GraphBuilder b;
  b.output("y", define(b));
  return *std::move(b).finish();
}

std::vector<Region> regions_of(const ir::Graph& graph) {
  return find_regions(graph, {.target = Target::kCuda});
}

Value mean(GraphBuilder& b, Value x, std::int64_t axis) {
  return b.add("reduce_mean", {x}, {{"axes", Integers{axis}}, {"keepdims", 1}});
}

KernelSource mean_over(ir::Shape sizes, std::int64_t axis) {
  const ir::Graph graph = graph_of([&](GraphBuilder& b) {
    return mean(b, b.input("x", {DType::kF32, sizes}), axis);
  });
  return *regions_of(graph)[0].kernel;
}

TEST(Launches, HaveThreadsTogetherWhereTermsLieTogether) {
  const KernelSource few = mean_over({100, 64}, 1);
  EXPECT_EQ(few.blocks, 100);
  const KernelSource many = mean_over({kManyRows, 64}, 1);
  EXPECT_EQ(many.blocks, kManyRows);
  EXPECT_EQ(many.threads, 32);
}

TEST(Launches, HaveThreadsApartWhereElementsLieTogether) {
  EXPECT_LT(mean_over({64, 10 * kManyRows}, 0).blocks, 10 * kManyRows / 32);
  // Both the pixels of the window and the results that read it.
  const ir::Graph windows = graph_of([](GraphBuilder& b) {
    return b.add("avg_pool", {b.input("x", {DType::kF32, ir::Shape{4, 4, 64, 64}})},
                 {{"kernel", Integers{7, 7}},
                  {"strides", Integers{1, 1}},
                  {"pads", Integers{0, 0, 0, 0}},
                  {"dilations", Integers{1, 1}}});
  });
  EXPECT_LT(regions_of(windows)[0].kernel->blocks, 4 * 4 * 58 * 58 / 32);
}

TEST(Launches, ComputeALayerNormAtOnceHoweverManyItsRows) {
  for (const std::int64_t rows : {std::int64_t{16}, kManyRows, 4 * kManyRows}) {
    const ir::Graph graph = graph_of([&](GraphBuilder& b) {
      const Value x = b.input("x", {DType::kF32, ir::Shape{rows, 768}});
      const Value apart = b.add("sub", {x, mean(b, x, 1)});
      const Value variance = mean(b, b.add("mul", {apart, apart}), 1);
      return b.add("div", {apart, b.add("sqrt", {variance})});
    });
    EXPECT_EQ(regions_of(graph).size(), 1u) << rows;
  }
}

// An index of a pack is computed once, and one instruction loads all of it.
TEST(Launches, CountWhatPacksDoOnce) {
  const auto operations = [](std::int64_t columns) {
    const ir::Graph graph = graph_of([&](GraphBuilder& b) {
      const Value x = b.input("x", {DType::kF32, ir::Shape{4096, columns}});
      return b.add("add", {x, b.input("bias", {DType::kF32, ir::Shape{columns}})});
    });
    const auto kernel = *regions_of(graph)[0].kernel;
    EXPECT_EQ(kernel.width, columns % 4 == 0 ? 4 : 1);
    return kernel.work.operations / static_cast<double>(4096 * columns);
  };
  EXPECT_LT(operations(256), 0.5 * operations(255));
  EXPECT_GE(operations(256), 1);  // the addition itself
}

}  // namespace
}  // namespace egret::backends::codegen
