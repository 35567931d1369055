// SPDX-License-Identifier: Apache-2.0
// Whole graphs on a GPU against the f64 interpreter: products through cuBLASLt, kernels between
// them, recorded launches.
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "tests/backends/attention_block.h"
#include "tests/backends/graph_compare.h"

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

}  // namespace
}  // namespace egret::backends
