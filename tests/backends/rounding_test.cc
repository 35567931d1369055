// SPDX-License-Identifier: Apache-2.0
// Arithmetic that counts on rounding: (x + c) - c is x rounded to an integer, ties to even, where c
// is so large that sums keep no fraction.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/backend.h"
#include "base/random.h"
#include "ir/evaluate/input_draws.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/codegen/needs_host_compiler.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

constexpr double kF32 = 12582912, kF64 = 6755399441055744;  // 1.5 times 2^23 and 2^52

// x rounded to an integer.
Value rounded(GraphBuilder& b, Value x, const Tensor& large) {
  const Value sum = b.add("add", {x, b.constant(large)});
  return b.add("sub", {sum, b.constant(large)});
}

// The output has integers, no further from those of the interpreter than a product's last places
// may move them, and not all of them small.
void expect_rounded(GraphBuilder b, const char* backend) {
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  base::Random random(5);
  const std::vector<Tensor> inputs = ir::random_inputs(*graph, random);
  const auto plan = find_backend(backend)->compile(*graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE((*plan)->report().fallbacks.empty());
  const auto outputs = (*plan)->run(inputs);
  const auto exact = ir::interpret(*graph, inputs, {.precision = ir::Precision::kF32});
  ASSERT_TRUE(outputs.ok() && exact.ok());
  const Tensor& y = outputs->front();
  double largest = 0;
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    ASSERT_EQ(y.f64_at(i), std::nearbyint(y.f64_at(i))) << i;
    ASSERT_LE(std::abs(y.f64_at(i) - exact->front().f64_at(i)), 1) << i;
    largest = std::max(largest, std::abs(y.f64_at(i)));
  }
  EXPECT_GE(largest, 2);
}

// Factors, so that random values in [-1, 1) are not all rounded to 0.
Tensor eights(const TensorType& type) { return Tensor::filled(type, 8); }

TEST(Rounding, IsKeptBehindProducts) {
  GraphBuilder b;
  const Value x = b.input("x", TensorType(DType::kF32, {40, 30}));
  const Value w = b.input("w", TensorType(DType::kF32, {30, 64}));
  b.output("y", rounded(b, b.add("matmul", {x, w}), Tensor::scalar(DType::kF32, kF32)));
  expect_rounded(std::move(b), "cpu");
}

TEST(Rounding, IsKeptBehindConvolutions) {
  base::Random random(2);
  for (const Tensor& large :
       {Tensor::scalar(DType::kF32, kF32), Tensor::filled({DType::kF32, {16, 1, 1}}, kF32)}) {
    GraphBuilder b;
    const Value x = b.input("x", TensorType(DType::kF32, {1, 8, 9, 9}));
    const Value w = b.constant(Tensor::random(TensorType(DType::kF32, {16, 8, 3, 3}), random));
    const Value y = b.add("conv", {x, w},
                          {{"strides", Integers{1, 1}},
                           {"pads", Integers{1, 1, 1, 1}},
                           {"dilations", Integers{1, 1}}});
    b.output("y", rounded(b, y, large));
    expect_rounded(std::move(b), "cpu");
  }
}

class EmittedRounding : public codegen::NeedsHostCompiler<::testing::Test> {};

TEST_F(EmittedRounding, IsKept) {
  for (const DType type : {DType::kF32, DType::kF64}) {
    const TensorType matrix(type, {40, 64});
    GraphBuilder b;
    const Value x = b.add("mul", {b.input("x", matrix), b.constant(eights(matrix))});
    b.output("y", rounded(b, x, Tensor::scalar(type, type == DType::kF32 ? kF32 : kF64)));
    expect_rounded(std::move(b), "codegen");
  }
}

// (a + b) - a is what of b was added: nothing below the last place of a.
TEST_F(EmittedRounding, IsKeptInSumsWhoseTermsCancel) {
  const TensorType row(DType::kF32, {64});
  GraphBuilder b;
  const Value x = b.add("mul", {b.input("x", row), b.constant(eights(row))});
  const Value large =
      b.add("add", {b.add("mul", {x, b.scalar(DType::kF32, 0)}), b.input("a", row)});
  b.output("y", b.add("sub", {b.add("add", {large, x}), large}));
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok());
  base::Random random(7);
  std::vector<Tensor> inputs = ir::random_inputs(*graph, random);
  inputs[1] = Tensor::filled(row, kF32);
  const auto plan = find_backend("codegen")->compile(*graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto outputs = (*plan)->run(inputs);
  ASSERT_TRUE(outputs.ok());
  for (std::int64_t i = 0; i < 64; ++i)
    EXPECT_EQ(outputs->front().f64_at(i), std::nearbyint(8 * inputs[0].f64_at(i))) << i;
}

}  // namespace
}  // namespace egret::backends
