// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/codegen/host_compiler.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"
#include "tests/codegen/needs_host_compiler.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

class CodegenBackend : public codegen::NeedsHostCompiler<::testing::Test> {
 protected:
  PlanReport check(GraphBuilder b, double tolerance = 1e-5) {
    const auto graph = std::move(b).finish();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    PlanReport report = expect_matches_reference(*graph, 1, tolerance, *find_backend("codegen"));
    EXPECT_TRUE(report.fallbacks.empty());
    return report;
  }
};

TEST_F(CodegenBackend, RunsSoftmaxAsOneKernel) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {3, 7, 33}));
  b.output("y", b.add("softmax", {x}, {{"axis", std::int64_t{2}}}));
  EXPECT_EQ(check(std::move(b)).kernels.size(), 1u);
}

TEST_F(CodegenBackend, RunsLayerNormAndWhatFollowsAsOneKernel) {
  GraphBuilder b;
  base::Random random(1);
  const Value x = b.input("x", TensorType(DType::kF32, {5, 6, 48}));
  const auto weights = [&] {
    return b.constant(Tensor::random(TensorType(DType::kF32, {48}), random));
  };
  const Value normed = b.add("layer_norm", {x, weights(), weights()}, {{"axis", std::int64_t{2}}});
  b.output("y", b.add("gelu", {b.add("add", {normed, x})}));
  EXPECT_EQ(check(std::move(b)).kernels.size(), 1u);
}

TEST_F(CodegenBackend, KeepsProductsApartThatWouldBeComputedAgain) {
  GraphBuilder b;
  const Value q = b.input("q", TensorType(DType::kF32, {2, 40, 16}));
  const Value k = b.input("k", TensorType(DType::kF32, {2, 16, 40}));
  const Value v = b.input("v", TensorType(DType::kF32, {2, 40, 16}));
  const Value weights = b.add("softmax", {b.add("matmul", {q, k})}, {{"axis", std::int64_t{2}}});
  b.output("y", b.add("matmul", {weights, v}));
  EXPECT_GE(check(std::move(b)).kernels.size(), 3u);
}

TEST_F(CodegenBackend, GivesViewsAndOutputsTheirPlaces) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {4, 6}));
  const Value shape = b.add("reshape", {x}, {{"shape", Integers{24}}});
  const Value sum = b.add("add", {shape, shape});
  const Value back = b.add("reshape", {sum}, {{"shape", Integers{6, 4}}});
  b.output("view_of_input", shape);
  b.output("sum", sum);
  b.output("view_of_sum", back);
  b.output("input", x);
  b.output("product", b.add("matmul", {x, back}));
  check(std::move(b));
}

TEST_F(CodegenBackend, RunsConvolutionsAndPools) {
  GraphBuilder b;
  base::Random random(2);
  const Value x = b.input("x", TensorType(DType::kF32, {1, 3, 12, 12}));
  const Value w = b.constant(Tensor::random(TensorType(DType::kF32, {8, 3, 3, 3}), random));
  const Value conv = b.add(
      "conv", {x, w},
      {{"strides", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}});
  const Value pool = b.add("max_pool", {b.add("relu", {conv})},
                           {{"kernel", Integers{2, 2}},
                            {"strides", Integers{2, 2}},
                            {"pads", Integers{0, 0, 0, 0}},
                            {"dilations", Integers{1, 1}}});
  b.output("y",
           b.add("reduce_mean", {pool}, {{"axes", Integers{2, 3}}, {"keepdims", std::int64_t{0}}}));
  check(std::move(b));
}

TEST_F(CodegenBackend, ReportsWhatDataMakesFail) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kI64, {2}));
  const Value y = b.input("y", TensorType(DType::kI64, {2}));
  b.output("z", b.add("div", {x, y}));
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok());
  auto plan = find_backend("codegen")->compile(*graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const std::int64_t good[] = {3, 2};
  const std::int64_t bad[] = {2, 0};
  const auto run = [&](std::span<const std::int64_t> by) {
    return (*plan)->run(std::vector{Tensor::of_integers(good), Tensor::of_integers(by)}).status();
  };
  EXPECT_TRUE(run(good).ok());
  EXPECT_EQ(run(bad).code(), base::StatusCode::kBadInput);
  EXPECT_TRUE(run(good).ok());
}

}  // namespace
}  // namespace egret::backends
