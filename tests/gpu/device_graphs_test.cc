// SPDX-License-Identifier: Apache-2.0
// Whole graphs on a GPU against the f64 interpreter: products through cuBLASLt, kernels between
// them, recorded launches.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "backends/timing/measure.h"
#include "backends/timing/node_timer.h"
#include "ir/graph/builder.h"
#include "tests/backends/attention_block.h"
#include "tests/backends/graph_compare.h"
#include "tests/backends/small_network.h"
#include "tests/backends/tail_network.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::TensorType;
using ir::Value;

class DeviceGraphs : public ::testing::Test {
 protected:
  void SetUp() override {
    const base::Status usable = backend_.availability();
    if (!usable.ok()) GTEST_SKIP() << usable.message();
  }
  void check(GraphBuilder& b, double tolerance = 1e-5) {
    const auto graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    expect_matches_reference(*graph, 1, tolerance, backend_);
  }

  const Backend& backend_ = *find_backend("cuda");
};

TensorType f32(std::initializer_list<std::int64_t> sizes) { return {DType::kF32, sizes}; }

TEST_F(DeviceGraphs, MultiplyMatricesInAllLayouts) {
  for (int which = 0; which < 4; ++which) {
    GraphBuilder b;
    const auto operand = [&](const char* name, std::int64_t rows, std::int64_t columns,
                             bool turned) {
      const Value x = b.input(name, turned ? f32({columns, rows}) : f32({rows, columns}));
      return turned ? b.add("transpose", {x}, {{"perm", Integers{1, 0}}}) : x;
    };
    const Value x = operand("x", 130, 257, (which & 1) != 0);
    b.output("y", b.add("matmul", {x, operand("w", 257, 66, (which & 2) != 0)}));
    check(b);
  }
}

TEST_F(DeviceGraphs, RunAttentionBlocks) {
  for (const std::int64_t batch : {1, 2})
    expect_matches_reference(attention_block(batch, 32), 1, 2e-5, backend_);
}

TEST_F(DeviceGraphs, Convolve) {
  GraphBuilder b;
  const Value x = b.input("x", f32({2, 16, 14, 15}));
  const auto convolved = [&](const char* name, std::int64_t channels, std::int64_t groups,
                             std::int64_t stride) {
    const Value w = b.input(std::string("w_") + name, f32({32, channels, 3, 3}));
    b.output(name, b.add("conv", {x, w},
                         {{"strides", Integers{stride, stride}},
                          {"pads", Integers{1, 1, 1, 1}},
                          {"dilations", Integers{1, 1}},
                          {"group", groups}}));
  };
  convolved("plain", 16, 1, 1);
  convolved("strided", 16, 1, 2);
  convolved("grouped", 4, 4, 1);
  convolved("depthwise", 1, 16, 1);
  check(b, 2e-5);
}

TEST_F(DeviceGraphs, TakeBiasResidualAndReluIntoProductsAndConvolutions) {
  GraphBuilder b;
  const Value product =
      b.add("matmul", {b.input("a", f32({128, 96})), b.input("v", f32({96, 64}))});
  const Value scaled = b.add("div", {product, b.scalar(DType::kF32, 4)});
  const Value added = b.add("add", {scaled, b.input("c", f32({128, 64}))});
  b.output("y", b.add("relu", {b.add("add", {added, b.input("bias", f32({64}))})}));
  const Value x = b.input("x", f32({2, 16, 14, 14}));
  Value z = b.add(
      "conv", {x, b.input("w", f32({16, 16, 3, 3}))},
      {{"strides", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}});
  z = b.add("add", {z, b.input("channels", f32({1, 16, 1, 1}))});
  b.output("z", b.add("relu", {b.add("add", {z, x})}));
  check(b, 2e-5);
}

// Steps that need not wait for each other, many of them, and what joins them.
TEST_F(DeviceGraphs, RunBranchesBesideEachOther) {
  GraphBuilder b;
  const Value x = b.input("x", f32({256, 256}));
  Value sum = x;
  for (int i = 0; i < 8; ++i) {
    const Value w = b.input("w" + std::to_string(i), f32({256, 256}));
    const Value branch = b.add("tanh", {b.add("matmul", {x, w})});
    sum = b.add("add", {sum, b.add("softmax", {branch}, {{"axis", std::int64_t{1}}})});
  }
  b.output("y", sum);
  check(b, 2e-5);
}

// Branches of different lengths, whose values take the places of others: whatever order the streams
// allow gives the same result.
TEST_F(DeviceGraphs, ComputeTheSameInEachOfManyRuns) {
  GraphBuilder b;
  Value x = b.input("x", f32({64, 256}));
  for (int block = 0; block < 4; ++block) {
    Value sum = x;
    for (int branch = 0; branch < 4; ++branch) {
      Value y = x;
      for (int i = 0; i <= branch; ++i) {
        const Value w =
            b.input("w" + std::to_string(100 * block + 10 * branch + i), f32({256, 256}));
        y = b.add("softmax", {b.add("matmul", {y, w})}, {{"axis", std::int64_t{1}}});
      }
      sum = b.add("add", {sum, y});
    }
    x = b.add("tanh", {sum});
  }
  b.output("y", x);
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  expect_matches_reference(*graph, 1, 2e-5, backend_);
  const auto plan = backend_.compile(*graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto inputs = random_inputs(**plan, base::Random(5));
  const auto first = (*plan)->run(inputs);
  ASSERT_TRUE(first.ok()) << first.status().message();
  for (int run = 0; run < 200; ++run) {
    const auto again = (*plan)->run(inputs);
    ASSERT_TRUE(again.ok()) << again.status().message();
    ASSERT_TRUE(std::ranges::equal(again->at(0).data(), first->at(0).data())) << "run " << run;
  }
}

TEST_F(DeviceGraphs, ReadPartsOfOneProductIntoAttention) {
  const ir::Graph graph = merged_attention(64);
  expect_matches_reference(graph, 1, 2e-5, backend_);
  PlanReport report;
  const CompileOptions narrow{.precision = Precision::kBF16};
  EXPECT_LE(relative_error(graph, narrow, backend_, &report), 16 * roundoff(Precision::kBF16));
  std::cout << "  " << report.kernels.size() << " kernels\n";
}

// By whatever computes it right: one H200 gave wrong results where a library added the mask.
TEST_F(DeviceGraphs, ComputeAttentionWithAMask) {
  for (const Precision precision : {Precision::kBF16, Precision::kF16}) {
    PlanReport report;
    EXPECT_LE(
        relative_error(masked_attention(64, false), {.precision = precision}, backend_, &report),
        16 * roundoff(precision));
    for (const auto& kernel : report.kernels) std::cout << "  " << kernel.name << "\n";
  }
}

// An operator takes what its kernel takes, not what it takes to bring its inputs.
TEST_F(DeviceGraphs, AreTimedByTheirKernels) {
  const auto seconds = [&](std::string_view op, const ir::Attrs& attrs,
                           const std::vector<TensorType>& types, std::vector<bool> constants) {
    const auto timed = time_operator(backend_, ir::get_operator(op), attrs, types, constants);
    EXPECT_TRUE(timed.ok()) << timed.status().message();
    const double own = timed.ok() ? timed->fused_s : 0;
    std::cout << "  " << op << ": " << 1e6 * own << " us, alone "
              << (timed.ok() ? 1e6 * timed->alone.median_s : 0) << "\n";
    return own;
  };
  const double small = seconds("matmul", {}, {f32({128, 768}), f32({768, 768})}, {false, true});
  const double large = seconds("matmul", {}, {f32({4096, 4096}), f32({4096, 4096})}, {false, true});
  EXPECT_GT(small, 1e-6);
  EXPECT_LT(small, 1e-4);
  EXPECT_GT(large, 5 * small);
  const ir::Attrs part{{"axis", std::int64_t{1}},
                       {"start", std::int64_t{512}},
                       {"size", std::int64_t{512}},
                       {"step", std::int64_t{1}}};
  EXPECT_LT(seconds("slice", part, {f32({128, 1536})}, {}), small / 4);
}

TEST_F(DeviceGraphs, ComputeInLessThanF32WithinItsErrors) {
  GraphBuilder b;
  b.output("y", b.add("matmul", {b.input("a", f32({256, 512})), b.input("b", f32({512, 128}))}));
  const auto product = std::move(b).finish();
  ASSERT_TRUE(product.ok());
  for (const Precision precision :
       {Precision::kF32, Precision::kTF32, Precision::kBF16, Precision::kF16}) {
    for (const bool search : {false, true}) {
      const CompileOptions options{.precision = precision, .search = search};
      const double bound = 32 * roundoff(precision);
      EXPECT_LE(relative_error(*product, options, backend_), bound) << to_string(precision);
      EXPECT_LE(relative_error(attention_block(2, 32), options, backend_), bound)
          << to_string(precision);
      EXPECT_LE(relative_error(small_network(), options, backend_), bound) << to_string(precision);
    }
  }
}

TEST_F(DeviceGraphs, ComputeTailsAlong) {
  const Tail gelu = [](GraphBuilder& b, Value x) { return b.add("gelu", {x}); };
  for (const Precision precision : {Precision::kTF32, Precision::kBF16}) {
    const double bound = 32 * roundoff(precision);
    for (const Tail& tail : {Tail(silu), Tail(hard_swish), gelu}) {
      for (const ir::Graph& of : {tail_network(tail), tail_image_network(tail)}) {
        const CompileOptions options{.precision = precision, .search = false};
        EXPECT_LE(relative_error(of, options, backend_), bound) << to_string(precision);
      }
    }
  }
}

TEST_F(DeviceGraphs, KeepValuesInBf16WithEitherLayout) {
  for (const bool blocked : {false, true}) {
    PlanReport report;
    const CompileOptions options{
        .precision = Precision::kBF16, .search = false, .blocked = blocked};
    EXPECT_LE(relative_error(small_network(), options, backend_, &report),
              32 * roundoff(Precision::kBF16));
    const auto last = std::ranges::count(report.kernels, std::string("channels-last"),
                                         &PlanReport::Kernel::layout);
    EXPECT_EQ(last > 0, blocked);
  }
}

}  // namespace
}  // namespace egret::backends
