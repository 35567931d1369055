// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <span>

#include "backends/backend.h"
#include "base/random.h"
#include "ir/evaluate/input_draws.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::Integers;
using ir::Shape;
using ir::TensorType;
using ir::Value;

TensorType f32(const Shape& shape) { return {ir::DType::kF32, shape}; }

std::ptrdiff_t attention_kernels(const PlanReport& report) {
  return std::ranges::count(report.kernels, "attention", &PlanReport::Kernel::name);
}

// Scores of q and k, what `between` makes of them, softmax, and the product with v.
struct Attention {
  ir::GraphBuilder b;
  Shape q{2, 3, 40, 16}, k{2, 3, 16, 50}, v{2, 3, 50, 24};

  Value shares(Value scores) {
    const auto axis = static_cast<std::int64_t>(q.size()) - 1;
    return b.add("softmax", {scores}, {{"axis", axis}});
  }
  Value scores() { return b.add("matmul", {b.input("q", f32(q)), b.input("k", f32(k))}); }
  Value result(Value scores) { return b.add("matmul", {shares(scores), b.input("v", f32(v))}); }
  PlanReport check(std::uint64_t seed = 1) {
    auto graph = std::move(b).finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    return expect_matches_reference(*graph, seed);
  }
};

TEST(CpuAttention, IsOneKernel) {
  Attention a;
  a.b.output("y", a.result(a.scores()));
  const PlanReport report = a.check();
  EXPECT_EQ(attention_kernels(report), 1);
  EXPECT_EQ(report.kernels.size(), 1U);
}

// Kernels that attention with this mask on the scaled scores is.
std::ptrdiff_t kernels_with_mask(const Shape& mask) {
  Attention a;
  const Value scaled = a.b.add("div", {a.scores(), a.b.scalar(ir::DType::kF32, 4)});
  a.b.output("y", a.result(a.b.add("add", {scaled, a.b.input("mask", f32(mask))})));
  return attention_kernels(a.check());
}

TEST(CpuAttention, TakesScalesAndMasks) {
  for (const Shape& mask :
       {Shape{2, 3, 40, 50}, Shape{40, 50}, Shape{2, 1, 1, 50}, Shape{3, 1, 1}, Shape{50}})
    EXPECT_EQ(kernels_with_mask(mask), 1) << to_string(f32(mask));
  // Products of the library add no columns: the group is split.
  EXPECT_EQ(kernels_with_mask({2, 1, 40, 1}), 0);
}

TEST(CpuAttention, RunsBlocksOfRowsAndTheirRest) {
  // 65536 / 1024 columns are 64 rows at a time: two blocks and 5 rows.
  Attention a;
  a.q = {1, 133, 8}, a.k = {1, 8, 1024}, a.v = {1, 1024, 8};
  const Value mask = a.b.input("mask", f32({133, 1024}));
  a.b.output("y", a.result(a.b.add("add", {a.scores(), mask})));
  EXPECT_EQ(attention_kernels(a.check()), 1);
}

TEST(CpuAttention, ReadsMatricesWhereTheyLieAndRepeatsThem) {
  Attention a;
  const auto turned = [&](Value x, const Integers& perm) {
    return a.b.add("transpose", {x}, {{"perm", perm}});
  };
  // Heads are an axis of a projection; keys and values have one head for all.
  const Value q = turned(a.b.input("q", f32({2, 40, 3, 16})), Integers{0, 2, 1, 3});
  const Value k = turned(a.b.input("k", f32({2, 1, 50, 16})), Integers{0, 1, 3, 2});
  const Value v = a.b.input("v", f32({2, 1, 50, 24}));
  const Value mixed = a.b.add("matmul", {a.shares(a.b.add("matmul", {q, k})), v});
  const Value back = turned(mixed, Integers{0, 2, 1, 3});
  a.b.output("y", a.b.add("reshape", {back}, {{"shape", Integers{2, 40, 72}}}));
  const PlanReport report = a.check();
  EXPECT_EQ(attention_kernels(report), 1);
  EXPECT_EQ(std::ranges::count(report.kernels, "reorder", &PlanReport::Kernel::name), 0);
}

TEST(CpuAttention, WritesForAReaderThatTurnsColumnsToo) {
  Attention a;
  const Value result = a.result(a.scores());
  a.b.output("y", a.b.add("transpose", {result}, {{"perm", Integers{0, 3, 1, 2}}}));
  EXPECT_EQ(attention_kernels(a.check()), 1);
}

TEST(CpuAttention, LeavesMaskedPlacesOutAndKeepsNaN) {
  // Rows of -inf have no shares: 0 / 0. Others give masked places nothing, however far they are.
  ir::Tensor mask(f32({40, 50}));
  auto values = mask.mutable_as<float>();
  for (std::int64_t r = 0; r < 40; ++r) {
    for (std::int64_t c = 0; c < 50; ++c) {
      const bool masked = r == 7 || c > r;
      values[static_cast<std::size_t>(r * 50 + c)] =
          !masked ? 0 : (r % 2 == 1 ? -std::numeric_limits<float>::infinity() : -1e30F);
    }
  }
  Attention a;
  const Value sum = a.b.add("add", {a.scores(), a.b.constant(mask)});
  a.b.output("y", a.result(sum));
  EXPECT_EQ(attention_kernels(a.check()), 1);
}

// The mean of values is no larger than they are, however many are summed: of one block of columns,
// and of several.
TEST(CpuAttention, AveragesValuesCloseToTheLargestNumber) {
  constexpr float kLarge = 3e38F, kInf = std::numeric_limits<float>::infinity();
  for (const std::int64_t columns : {50, 900}) {
    Attention a;
    a.k = {2, 3, 16, columns};
    ir::Tensor values(f32({2, 3, columns, 24}));
    std::ranges::fill(values.mutable_as<float>(), kLarge);
    values.mutable_as<float>()[0] = kInf;  // one column of 24
    a.b.output("y", a.b.add("matmul", {a.shares(a.scores()), a.b.constant(values)}));
    auto graph = std::move(a.b).finish();
    ASSERT_TRUE(graph.ok());
    auto plan = find_backend("cpu")->compile(*graph, {});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(attention_kernels((*plan)->report()), 1);
    base::Random random(3);
    const auto outputs = (*plan)->run(ir::random_inputs(*graph, random));
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    const std::span<const float> y = outputs->front().as<float>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (i < 40 * 24 && i % 24 == 0) {
        EXPECT_EQ(y[i], kInf);
      } else {
        EXPECT_NEAR(y[i] / kLarge, 1, 1e-5) << i;
      }
    }
  }
}

// More rows and columns than a block: the largest score is in the first block, in the last one, and
// in blocks behind others that are masked.
TEST(CpuAttention, ScalesWhatEarlierBlocksGave) {
  Attention a;
  a.q = {1, 530, 16}, a.k = {1, 16, 900}, a.v = {1, 900, 24};
  ir::Tensor mask(f32({530, 900}));
  auto values = mask.mutable_as<float>();
  for (std::int64_t r = 0; r < 530; ++r) {
    for (std::int64_t c = 0; c < 900; ++c) {
      const float step = static_cast<float>(c) / 30;
      const float of_row[] = {-step, step, 0};
      const bool masked = r == 5 || (r % 5 == 3 && c < 500);
      values[static_cast<std::size_t>(r * 900 + c)] =
          masked ? -std::numeric_limits<float>::infinity() : of_row[r % 3];
    }
  }
  const Value scaled = a.b.add("mul", {a.scores(), a.b.scalar(ir::DType::kF32, 0.3)});
  a.b.output("y", a.result(a.b.add("add", {scaled, a.b.constant(mask)})));
  EXPECT_EQ(attention_kernels(a.check()), 1);
}

TEST(CpuAttention, IsSplitWhereTheScoresAreSeen) {
  Attention a;
  const Value scores = a.scores();
  a.b.output("y", a.result(scores));
  a.b.output("scores", scores);
  EXPECT_EQ(attention_kernels(a.check()), 0);

  Attention small;
  small.q = {2, 3, 4, 16};
  small.b.output("y", small.result(small.scores()));
  EXPECT_EQ(attention_kernels(small.check()), 0);

  Attention square;  // the shares are the second factor
  square.q = {1, 48, 16}, square.k = {1, 16, 48};
  const Value shares = square.shares(square.scores());
  square.b.output("y", square.b.add("matmul", {square.b.input("v", f32({1, 8, 48})), shares}));
  EXPECT_EQ(attention_kernels(square.check()), 0);
}

}  // namespace
}  // namespace egret::backends
