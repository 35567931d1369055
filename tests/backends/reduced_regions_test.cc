// SPDX-License-Identifier: Apache-2.0
// Reductions that compute the reduced value in the same pass, against the interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Value;

std::size_t kernels_named(const PlanReport& report, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.kernels, [&](const PlanReport::Kernel& kernel) { return kernel.name == name; }));
}

ir::Graph sum_of_squares(const Shape& shape, const Integers& axes) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, shape});
  b.output("y", b.add("reduce_sum", {b.add("mul", {x, x})}, {{"axes", axes}}));
  return *b.finish();
}

TEST(ReducedRegions, AreOneKernel) {
  for (const Integers& axes : {Integers{1}, Integers{0}, Integers{0, 1}}) {
    const PlanReport report = expect_matches_reference(sum_of_squares({70, 300}, axes), 1);
    EXPECT_EQ(kernels_named(report, "reduce"), 1u);
    EXPECT_EQ(kernels_named(report, "pointwise"), 0u);
  }
}

TEST(ReducedRegions, AreTwoKernelsWhereRunsAreShort) {
  const PlanReport report = expect_matches_reference(sum_of_squares({700, 8}, {1}), 1);
  EXPECT_EQ(kernels_named(report, "reduce"), 1u);
  EXPECT_EQ(kernels_named(report, "pointwise"), 1u);
}

// The last axis is long, and is not the one that is contiguous.
TEST(ReducedRegions, AreSplitWhereTheLayoutHasShortRuns) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {100, 6}});
  const Value turned = b.add("transpose", {x}, {{"perm", Integers{1, 0}}});
  b.output("y", b.add("reduce_max", {b.add("exp", {turned})}, {{"axes", Integers{1}}}));
  const PlanReport report = expect_matches_reference(*b.finish(), 1);
  EXPECT_EQ(kernels_named(report, "reduce"), 1u);
  EXPECT_TRUE(report.fallbacks.empty());
}

TEST(ReducedRegions, LeaveValuesThatOthersRead) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {4, 128}});
  const Value exponentials = b.add("exp", {x});
  const Value sum =
      b.add("reduce_sum", {exponentials}, {{"axes", Integers{1}}, {"keepdims", std::int64_t{1}}});
  b.output("y", b.add("div", {exponentials, sum}));
  const PlanReport report = expect_matches_reference(*b.finish(), 1);
  EXPECT_EQ(kernels_named(report, "pointwise"), 2u);
}

// Sizes across the borders of blocks, operands that repeat along any axes, other types within.
TEST(ReducedRegions, MatchTheInterpreter) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    base::Random random(seed);
    Shape shape(static_cast<std::size_t>(random.between(1, 4)));
    for (std::int64_t& size : shape) size = random.between(1, 7);
    shape.back() = random.between(60, 1100);
    GraphBuilder b;
    Value value = b.input("x", {DType::kF32, shape});
    if (shape.size() > 1 && random.chance(0.3)) {  // another order of memory
      Integers perm;
      for (std::size_t i = shape.size(); i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
      value = b.add("transpose", {value}, {{"perm", perm}});
      shape = Shape(shape.rbegin(), shape.rend());
    }
    for (std::int64_t k = random.between(1, 4); k-- > 0;) {
      Shape part(shape.begin() + random.between(0, static_cast<std::int64_t>(shape.size())),
                 shape.end());
      for (std::int64_t& size : part) size = random.chance(0.4) ? 1 : size;
      const Value other = b.input("x" + std::to_string(k), {DType::kF32, part});
      switch (random.between(0, 3)) {
        case 0: value = b.add("mul", {value, other}); break;
        case 1: value = b.add("sub", {other, value}); break;
        case 2: value = b.add("where", {b.add("less", {value, other}), value, other}); break;
        default: value = b.add("tanh", {b.add("add", {value, other})});
      }
    }
    Integers axes;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (random.chance(0.5)) axes.push_back(static_cast<std::int64_t>(i));
    }
    const char* const ops[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"};
    b.output("y", b.add(ops[random.below(4)], {value},
                        {{"axes", axes}, {"keepdims", random.between(0, 1)}}));
    const auto graph = b.finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    EXPECT_TRUE(expect_matches_reference(*graph, seed).fallbacks.empty()) << seed;
  }
}

// A reduction of the results of a convolution, which lie in blocks of channels.
void check_blocks(const std::string& op, const Integers& axes, std::int64_t keepdims,
                  double shift) {
  GraphBuilder b;
  base::Random random(3);
  const Value w = b.constant(ir::Tensor::random({DType::kF32, {20, 16, 3, 3}}, random));
  const Value x = b.add(
      "conv", {b.input("x", {DType::kF32, {2, 16, 12, 12}}), w},
      {{"strides", Integers{1, 1}}, {"dilations", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}});
  const Value shifted = b.add("sub", {x, b.scalar(DType::kF32, shift)});
  const Value y = b.add(op, {shifted}, {{"axes", axes}, {"keepdims", keepdims}});
  // Up to 1: exp would enlarge the rounding of larger sums.
  const double scale = op == "reduce_sum" ? 1e-5 : 1e-3;
  b.output("y", b.add("exp", {b.add("mul", {y, b.scalar(DType::kF32, scale)})}));
  const PlanReport report = expect_matches_reference(*b.finish(), 1);
  ASSERT_EQ(kernels_named(report, "reduce"), 1u);
  if (keepdims == 0 || axes[0] == 1) return;
  const auto reduce =
      std::ranges::find(report.kernels, std::string("reduce"), &PlanReport::Kernel::name);
  EXPECT_NE(std::prev(reduce)->name, "reorder");
}

// The last block of channels is not full. All values below 0 or above: what lies in its padding is
// neither the largest nor the least.
TEST(Reductions, ReadPaddedBlocksOfChannelsWhereTheyLie) {
  for (const char* const op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"}) {
    for (const Integers& axes : {Integers{2, 3}, Integers{3}, Integers{0, 2, 3}, Integers{1, 3}}) {
      for (const std::int64_t keepdims : {0, 1}) {
        for (const double shift : {-100.0, 0.0, 100.0}) {
          SCOPED_TRACE(std::string(op) + " over " + std::to_string(axes.size()) + " axes, less " +
                       std::to_string(shift));
          check_blocks(op, axes, keepdims, shift);
        }
      }
    }
  }
}

}  // namespace
}  // namespace egret::backends
