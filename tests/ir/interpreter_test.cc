// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluate/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/graph/builder.h"

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

TEST(Interpreter, PerturbsWhatRoundsAndNothingElse) {
  base::Random random(1);
  const Tensor x = Tensor::random({DType::kF32, {200, 300}}, random);
  const double u = 0x1p-10;
  const Attrs axes{{"axes", Integers{1}}, {"keepdims", std::int64_t{1}}};
  const Tensor exact = must(evaluate(get_operator("reduce_sum"), axes, {&x, 1}));
  const Tensor first =
      must(evaluate(get_operator("reduce_sum"), axes, {&x, 1}, {.perturbation = u, .seed = 1}));
  const Tensor again =
      must(evaluate(get_operator("reduce_sum"), axes, {&x, 1}, {.perturbation = u, .seed = 1}));
  const Tensor second =
      must(evaluate(get_operator("reduce_sum"), axes, {&x, 1}, {.perturbation = u, .seed = 2}));
  EXPECT_EQ(first.content_hash(), again.content_hash());
  EXPECT_NE(first.content_hash(), second.content_hash());
  double widest = 0;
  for (std::int64_t i = 0; i < exact.elements(); ++i) {
    widest = std::max(widest, std::abs(first.f64_at(i) / exact.f64_at(i) - 1));
  }
  EXPECT_LE(widest, u * std::sqrt(300.0) * (1 + 1e-9));
  EXPECT_GT(widest, u * std::sqrt(300.0) * 0.9);

  const Tensor moved = must(evaluate(get_operator("relu"), {}, {&x, 1}, {.perturbation = u}));
  EXPECT_EQ(moved.content_hash(), must(evaluate(get_operator("relu"), {}, {&x, 1})).content_hash());
}

// What any type of floats holds stays as it is: of a negative number only whole powers are numbers.
TEST(Interpreter, MovesNoConstantThatNeedsNoRounding) {
  GraphBuilder b;
  const Value x = b.constant(Tensor::filled({DType::kF32, {4}}, -1.7));
  const Value moved = b.constant(Tensor::filled({DType::kF32, {4}}, 1.7));
  b.output("square", b.add("pow", {x, b.scalar(DType::kF32, 2)}));
  b.output("moved", b.add("relu", {moved}));
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto outputs = interpret(*graph, {}, {.perturbation = 0x1p-8, .seed = 1});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR((*outputs)[0].f64_at(i), 2.89, 0.1);
    EXPECT_NE((*outputs)[1].f64_at(i), static_cast<double>(1.7F));
  }
}

TEST(Interpreter, StopsWhenAsked) {
  const Tensor x = Tensor::filled({DType::kF32, {10}}, 1);
  const auto result =
      evaluate(get_operator("relu"), {}, {&x, 1}, {.should_stop = [] { return true; }});
  EXPECT_EQ(result.status().code(), base::StatusCode::kLimit);
}

TEST(Interpreter, CastsAsStorageDoes) {
  const Tensor x = Tensor::of(DType::kF64, Shape{5},
                              std::vector<double>{-2.7, 300.9, 0.5, std::nan(""), 1 + 0x1p-20});
  const auto cast = [&](const char* to, Precision precision) {
    return to_string(must(evaluate(get_operator("cast"), {{"to", std::string(to)}}, {&x, 1},
                                   {.precision = precision})));
  };
  EXPECT_EQ(cast("i8", Precision::kF64), "i8[5] {-2, 44, 0, 0, 1}");
  EXPECT_EQ(cast("u8", Precision::kF64), "u8[5] {254, 44, 0, 0, 1}");
  EXPECT_EQ(cast("bool", Precision::kF64), "bool[5] {1, 1, 1, 1, 1}");
  EXPECT_EQ(cast("f16", Precision::kF32).substr(0, 6), "f16[5]");
  const Tensor wide = must(evaluate(get_operator("cast"), {{"to", std::string("f16")}}, {&x, 1}));
  EXPECT_EQ(wide.dtype(), DType::kF64);
  EXPECT_EQ(wide.f64_at(4), 1);  // rounded to f16 all the same
}

}  // namespace
}  // namespace egret::ir
