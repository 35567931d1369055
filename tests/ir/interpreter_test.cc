// SPDX-License-Identifier: Apache-2.0
#include "ir/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/builder.h"

namespace egret::ir {
namespace {

Tensor must(base::Result<Tensor> result) {
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *std::move(result) : Tensor(TensorType(DType::kF32, {0}));
}

TEST(Interpreter, MultipliesMatricesWide) {
  const Tensor a = Tensor::of(DType::kF32, Shape{2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  const Tensor b = Tensor::of(DType::kF32, Shape{3, 2}, std::vector<double>{7, 8, 9, 10, 11, 12});
  const Tensor inputs[] = {a, b};
  const Tensor wide = must(evaluate(get_operator("matmul"), {}, inputs));
  EXPECT_EQ(to_string(wide), "f64[2,2] {58, 64, 139, 154}");
  const Tensor narrow =
      must(evaluate(get_operator("matmul"), {}, inputs, {.precision = Precision::kF32}));
  EXPECT_EQ(to_string(narrow), "f32[2,2] {58, 64, 139, 154}");
}

TEST(Interpreter, EvaluatesCompositesThroughTheirBody) {
  const Tensor x = Tensor::of(DType::kF32, Shape{1, 3}, std::vector<double>{0, 1, 2});
  const Tensor y = must(evaluate(get_operator("softmax"), {{"axis", std::int64_t{1}}}, {&x, 1}));
  const double total = 1 + std::exp(1) + std::exp(2);
  EXPECT_NEAR(y.f64_at(0), 1 / total, 1e-15);
  EXPECT_NEAR(y.f64_at(2), std::exp(2) / total, 1e-15);
}

TEST(Interpreter, RunsGraphsAndChecksTheirInputs) {
  GraphBuilder builder;
  const Value x = builder.input("x", {DType::kF32, Dims{symbolic_dim("N"), 2}});
  builder.output("y",
                 builder.add("relu", {builder.add("add", {x, builder.scalar(DType::kF32, -1)})}));
  auto graph = builder.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const Tensor good = Tensor::of(DType::kF32, Shape{2, 2}, std::vector<double>{0, 1, 2, 3});
  const auto results = interpret(*graph, {&good, 1});
  ASSERT_TRUE(results.ok()) << results.status().message();
  EXPECT_EQ(to_string(results->front()), "f64[2,2] {0, 0, 1, 2}");
  const Tensor bad(TensorType(DType::kF32, {2, 3}));
  EXPECT_EQ(interpret(*graph, {&bad, 1}).status().message(),
            "input 'x' is declared f32[N,2], not f32[2,3]");
  EXPECT_FALSE(interpret(*graph, {}).ok());
}

}  // namespace
}  // namespace egret::ir
