// SPDX-License-Identifier: Apache-2.0
// NaN behind the operators that oneDNN's kernels of convolutions and products take along.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "backends/backend.h"
#include "base/random.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Shape;
using ir::Tensor;
using ir::TensorType;
using ir::Value;

Value contraction(GraphBuilder& b, bool conv) {
  base::Random random(2);
  if (!conv) {
    const Value x = b.input("x", TensorType(DType::kF32, {300, 32}));
    return b.add("matmul", {x, b.constant(Tensor::random({DType::kF32, {32, 100}}, random))});
  }
  const Value x = b.input("x", TensorType(DType::kF32, {1, 8, 9, 9}));
  return b.add(
      "conv", {x, b.constant(Tensor::random({DType::kF32, {16, 8, 3, 3}}, random))},
      {{"strides", Integers{1, 1}}, {"pads", Integers{1, 1, 1, 1}}, {"dilations", Integers{1, 1}}});
}

// The output is NaN where the interpreter's is, which is not everywhere nor nowhere.
void expect_same_nan(GraphBuilder b, const std::string& what) {
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  base::Random random(3);
  std::vector<Tensor> inputs;
  for (const ir::NodeId id : graph->inputs())
    inputs.push_back(Tensor::random(graph->node(id).type, random));
  for (Tensor& input : inputs)
    input.mutable_as<float>()[static_cast<std::size_t>(input.elements() / 2)] =
        std::numeric_limits<float>::quiet_NaN();
  const auto plan = find_backend("cpu")->compile(*graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto outputs = (*plan)->run(inputs);
  const auto exact = ir::interpret(*graph, inputs, {.precision = ir::Precision::kF32});
  ASSERT_TRUE(outputs.ok() && exact.ok());
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < exact->front().elements(); ++i) {
    const bool is_nan = std::isnan(exact->front().f64_at(i));
    count += is_nan;
    ASSERT_EQ(std::isnan(outputs->front().f64_at(i)), is_nan) << what << " at " << i;
  }
  EXPECT_GT(count, 0) << what;
  EXPECT_LT(count, exact->front().elements()) << what;
}

TEST(NaN, IsKeptByOperatorsBehindContractions) {
  for (const bool conv : {false, true}) {
    for (const char* const op : {"exp", "abs", "elu", "leaky_relu", "sigmoid", "silu", "hard_swish",
                                 "tanh", "gelu", "neg"}) {
      GraphBuilder b;
      b.output("y", b.add(op, {contraction(b, conv)}));
      expect_same_nan(std::move(b), std::string(op) + (conv ? " of conv" : " of matmul"));
    }
  }
}

// Of either operand.
TEST(NaN, IsKeptByMaximaAndMinimaBehindContractions) {
  for (const bool conv : {false, true}) {
    for (const char* const op : {"max", "min", "add", "mul", "sub"}) {
      for (const bool first : {false, true}) {
        GraphBuilder b;
        const Value x = contraction(b, conv), z = b.input("z", b.type(x));
        b.output("y", first ? b.add(op, {x, z}) : b.add(op, {z, x}));
        expect_same_nan(std::move(b), std::string(op) + (conv ? " of conv" : " of matmul"));
      }
    }
  }
}

}  // namespace
}  // namespace egret::backends
