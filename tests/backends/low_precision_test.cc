// SPDX-License-Identifier: Apache-2.0
// Graphs that round the operands of contractions: the pairs are put in and recognized again, and
// the CPU backend computes them by kernels with such operands.
#include "backends/low_precision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/backend.h"
#include "base/random.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"
#include "tests/backends/small_network.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::Shape;
using ir::Tensor;
using ir::TensorType;

const Backend& cpu() { return *find_backend("cpu"); }

std::vector<ir::NodeId> contractions_of(const ir::Graph& graph) {
  std::vector<ir::NodeId> found;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (is_contraction(graph, ir::NodeId(i))) found.emplace_back(i);
  }
  return found;
}

std::vector<Tensor> inputs_of(const ir::Graph& graph, std::uint64_t seed) {
  base::Random random(seed);
  return ir::random_inputs(graph, random);
}

// The value of a node on these inputs.
Tensor value_of(const ir::Graph& graph, ir::NodeId id, std::span<const Tensor> inputs) {
  ir::Graph part;
  for (const ir::Node& node : graph.nodes()) part.append(node);
  part.add_output("value", id);
  const auto values = ir::interpret(part, inputs);
  EXPECT_TRUE(values.ok());
  return values.ok() ? values->front() : Tensor();
}

// Every contraction reads this form, with ranges of what it reads on these inputs.
std::map<ir::NodeId, Lowering> lowerings_of(const ir::Graph& graph, OperandForm form,
                                            std::span<const Tensor> inputs) {
  std::map<ir::NodeId, Lowering> lowerings;
  for (const ir::NodeId id : contractions_of(graph)) {
    Lowering& lowering = lowerings[id];
    lowering.form = form;
    if (form != OperandForm::kI8) continue;
    const Tensor values = value_of(graph, graph.node(id).inputs[0], inputs);
    double least = 0, most = 0;
    for (std::int64_t i = 0; i < values.elements(); ++i) {
      least = std::min(least, values.f64_at(i));
      most = std::max(most, values.f64_at(i));
    }
    set_range(lowering, least, most);
    lowering.weight_scales = weight_scales(graph, id);
  }
  return lowerings;
}

double distance(const Tensor& a, const Tensor& b) {
  double difference = 0, size = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    difference += std::pow(a.f64_at(i) - b.f64_at(i), 2);
    size += std::pow(b.f64_at(i), 2);
  }
  return std::sqrt(difference / size);
}

bool takes_all(const ir::Graph&, ir::NodeId, OperandForm) { return true; }

ir::Graph layers(std::int64_t rows) {
  ir::GraphBuilder b;
  base::Random random(5);
  const auto weights = [&](Shape shape) {
    return b.constant(Tensor::random(TensorType(DType::kF32, shape), random));
  };
  ir::Value x = b.input("x", TensorType(DType::kF32, Shape{rows, 64}));
  x = b.add("relu", {b.add("add", {b.add("matmul", {x, weights({64, 96})}), weights({96})})});
  x = b.add("add", {b.add("matmul", {x, weights({96, 40})}), weights({40})});
  b.output("y", x);
  auto graph = b.finish();
  EXPECT_TRUE(graph.ok());
  return *std::move(graph);
}

class LowPrecision : public testing::TestWithParam<OperandForm> {};

TEST_P(LowPrecision, PairsArePutInAndRecognizedAgain) {
  for (const ir::Graph& graph : {small_network(), layers(3)}) {
    const auto inputs = inputs_of(graph, 7);
    const auto lowerings = lowerings_of(graph, GetParam(), inputs);
    ASSERT_GE(lowerings.size(), 2U);
    const WithRoundings rounded = with_roundings(graph, {}, lowerings);
    ASSERT_TRUE(rounded.graph.check_invariants().ok());
    const auto plain = without_roundings(rounded.graph, takes_all);
    ASSERT_TRUE(plain.has_value());
    std::vector<Lowering> found;
    for (const Lowering& lowering : plain->lowerings) {
      if (lowering.form != OperandForm::kF32) found.push_back(lowering);
    }
    ASSERT_EQ(found.size(), lowerings.size());
    std::size_t k = 0;
    for (const auto& [id, lowering] : lowerings) EXPECT_EQ(found[k++], lowering);
    // Without the pairs, the same function as before but for the rounding of weights.
    const auto before = ir::interpret(graph, inputs);
    const auto after = ir::interpret(plain->graph, inputs);
    ASSERT_TRUE(before.ok() && after.ok());
    EXPECT_LT(distance(after->front(), before->front()), 0.02);
  }
  EXPECT_FALSE(without_roundings(small_network(), takes_all).has_value());
  EXPECT_FALSE(
      without_roundings(with_roundings(layers(3), {},
                                       lowerings_of(layers(3), GetParam(), inputs_of(layers(3), 7)))
                            .graph,
                        [](const ir::Graph&, ir::NodeId, OperandForm) { return false; })
          .has_value());
}

// The backend differs from the graph's definition by single steps of rounding, at ties.
TEST_P(LowPrecision, TheBackendComputesWhatTheGraphSays) {
  for (const ir::Graph& graph : {small_network(), layers(40), layers(3)}) {
    const auto inputs = inputs_of(graph, 7);
    const auto lowerings = lowerings_of(graph, GetParam(), inputs);
    const WithRoundings rounded = with_roundings(graph, {}, lowerings);
    const auto exact = ir::interpret(graph, inputs);
    const auto expected = ir::interpret(rounded.graph, inputs);
    const auto plan = cpu().compile(rounded.graph, {.threads = 1});
    ASSERT_TRUE(exact.ok() && expected.ok() && plan.ok());
    const auto got = (*plan)->run(inputs);
    ASSERT_TRUE(got.ok());
    const double of_rounding = distance(expected->front(), exact->front());
    EXPECT_GT(of_rounding, 1e-4);
    EXPECT_LT(of_rounding, 0.03);
    EXPECT_LT(distance(got->front(), exact->front()), 1.5 * of_rounding);
    EXPECT_LT(distance(got->front(), expected->front()), of_rounding);
  }
}

// Kernels of the plan that compute in this form; none where the processor has no such kernels.
std::ptrdiff_t lowered_kernels(const ExecutablePlan& plan, OperandForm form) {
  const std::string word = form == OperandForm::kBF16 ? "bf16" : "vnni";
  const auto kernels = plan.report().kernels;
  return std::ranges::count_if(kernels, [&](const PlanReport::Kernel& kernel) {
    return kernel.implementation.find(word) != std::string::npos;
  });
}

TEST_P(LowPrecision, ItsKernelsReadRoundedOperands) {
  const ir::Graph graph = small_network();
  const auto lowerings = lowerings_of(graph, GetParam(), inputs_of(graph, 7));
  const WithRoundings rounded = with_roundings(graph, {}, lowerings);
  const auto count_of = [&](const ir::Graph& of) {
    const auto plan = cpu().compile(of, {.threads = 1});
    EXPECT_TRUE(plan.ok());
    return lowered_kernels(**plan, GetParam());
  };
  if (count_of(rounded.graph) == 0) GTEST_SKIP() << "this processor has no such kernels";
  EXPECT_EQ(count_of(graph), 0);
  EXPECT_EQ(static_cast<std::size_t>(count_of(rounded.graph)), lowerings.size());
}

TEST_P(LowPrecision, ADivisionIntoKernelsIsKept) {
  const ir::Graph graph = small_network();
  const auto inputs = inputs_of(graph, 7);
  const auto division = cpu().divide(graph, {});
  ASSERT_TRUE(division.ok());
  const WithRoundings rounded =
      with_roundings(graph, *division, lowerings_of(graph, GetParam(), inputs));
  ASSERT_EQ(rounded.division.size(), division->size());
  const auto own = cpu().compile(rounded.graph, {.threads = 1});
  const auto divided = cpu().compile(rounded.graph, {.threads = 1, .division = rounded.division});
  ASSERT_TRUE(own.ok() && divided.ok());
  const auto a = (*own)->run(inputs), b = (*divided)->run(inputs);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_LT(distance(a->front(), b->front()), 0.01);
  // Without kernels of bf16, a plan that divides by itself leaves each rounding a kernel of its
  // own.
  if (GetParam() == OperandForm::kBF16 && lowered_kernels(**own, GetParam()) == 0)
    GTEST_SKIP() << "this processor has no such kernels";
  EXPECT_EQ((*own)->report().kernels.size(), (*divided)->report().kernels.size());
}

// A convolution, then a factor and a shift of each channel, as a batch norm has them.
ir::Graph with_channel_scales(double first_factor) {
  ir::GraphBuilder b;
  base::Random random(9);
  const auto constant = [&](Shape shape) {
    return Tensor::random(TensorType(DType::kF32, shape), random);
  };
  const ir::Value x = b.input("x", TensorType(DType::kF32, Shape{1, 32, 12, 12}));
  const ir::Attrs same{{"strides", ir::Integers{1, 1}},
                       {"dilations", ir::Integers{1, 1}},
                       {"pads", ir::Integers{1, 1, 1, 1}}};
  Tensor factors = constant({1, 32, 1, 1});  // of both signs
  factors.mutable_as<float>()[0] = static_cast<float>(first_factor);
  ir::Value y = b.add("conv", {x, b.constant(constant({32, 32, 3, 3}))}, same);
  y = b.add("mul", {y, b.constant(std::move(factors))});
  y = b.add("relu", {b.add("add", {y, b.constant(constant({1, 32, 1, 1}))})});
  b.output("y", y);
  return *b.finish();
}

TEST_P(LowPrecision, ScalesOfChannelsAreScalesOfSums) {
  for (const double first_factor : {0.5, 0.0}) {
    const ir::Graph graph = with_channel_scales(first_factor);
    const auto inputs = inputs_of(graph, 7);
    const WithRoundings rounded =
        with_roundings(graph, {}, lowerings_of(graph, GetParam(), inputs));
    const auto expected = ir::interpret(rounded.graph, inputs);
    const auto plan = cpu().compile(rounded.graph, {.threads = 1});
    ASSERT_TRUE(expected.ok() && plan.ok());
    const auto got = (*plan)->run(inputs);
    ASSERT_TRUE(got.ok());
    // bf16 rounds weights times factors, which the graph does the other way round.
    EXPECT_LT(distance(got->front(), expected->front()),
              GetParam() == OperandForm::kI8 ? 1e-5 : 5e-3);
    if (!cpu().takes_form(graph, contractions_of(graph).front(), GetParam())) continue;
    const auto kernels = (*plan)->report().kernels;
    EXPECT_EQ(std::ranges::count(kernels, "conv", &PlanReport::Kernel::name), 1);
    EXPECT_EQ(std::ranges::count(kernels, "pointwise", &PlanReport::Kernel::name), 0);
  }
}

// A convolution with a bias and a computed residual, or with a computed bias.
ir::Graph with_residual(bool computed_bias) {
  ir::GraphBuilder b;
  base::Random random(13);
  const auto constant = [&](Shape shape) {
    return b.constant(Tensor::random(TensorType(DType::kF32, shape), random));
  };
  const ir::Value x = b.input("x", TensorType(DType::kF32, Shape{1, 32, 12, 12}));
  const ir::Value bias =
      computed_bias ? b.input("bias", TensorType(DType::kF32, Shape{32})) : constant({32});
  const ir::Attrs same{{"strides", ir::Integers{1, 1}},
                       {"dilations", ir::Integers{1, 1}},
                       {"pads", ir::Integers{1, 1, 1, 1}},
                       {"activation", std::string("relu")}};
  b.output("y", b.add("fused_conv", {x, constant({32, 32, 3, 3}), bias, b.add("exp", {x})}, same));
  return *b.finish();
}

TEST_P(LowPrecision, ResidualsStayInF32) {
  for (const bool computed_bias : {false, true}) {
    const ir::Graph graph = with_residual(computed_bias);
    const auto inputs = inputs_of(graph, 7);
    const auto lowerings = lowerings_of(graph, GetParam(), inputs);
    ASSERT_EQ(lowerings.size(), 1U);
    const WithRoundings rounded = with_roundings(graph, {}, lowerings);
    const auto exact = ir::interpret(graph, inputs);
    const auto expected = ir::interpret(rounded.graph, inputs);
    const auto plan = cpu().compile(rounded.graph, {.threads = 1});
    ASSERT_TRUE(exact.ok() && expected.ok() && plan.ok());
    const auto got = (*plan)->run(inputs);
    ASSERT_TRUE(got.ok());
    EXPECT_GT(distance(expected->front(), exact->front()), 1e-4);
    EXPECT_LT(distance(got->front(), expected->front()), 1e-5);
    // The bias of sums of integers is scaled while planning.
    if (GetParam() == OperandForm::kI8 && computed_bias) {
      EXPECT_FALSE(cpu().takes_form(graph, lowerings.begin()->first, GetParam()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, LowPrecision, testing::Values(OperandForm::kBF16, OperandForm::kI8),
                         [](const auto& form) { return std::string(to_string(form.param)); });

TEST(LowPrecisionScales, CoverTheValues) {
  Lowering lowering;
  set_range(lowering, 0, 10.2);
  EXPECT_FALSE(lowering.is_signed);
  EXPECT_FLOAT_EQ(lowering.scale, 10.2F / 255);
  set_range(lowering, -12.7, 3);
  EXPECT_TRUE(lowering.is_signed);
  EXPECT_FLOAT_EQ(lowering.scale, 0.1F);
  set_range(lowering, 0, 0);
  EXPECT_GT(lowering.scale, 0);
}

TEST(LowPrecisionScales, OfWeightsAreByChannelAndSaturateNothing) {
  const ir::Graph graph = small_network();
  for (const ir::NodeId id : contractions_of(graph)) {
    const Tensor& weights = graph.node(graph.node(id).inputs[1]).data;
    const auto scales = weight_scales(graph, id);
    const std::int64_t axis = channel_axis(graph, id);
    EXPECT_EQ(std::ssize(scales), weights.shape()[static_cast<std::size_t>(axis)]);
    const Tensor integers = weights_in_i8(weights, axis, scales);
    double most = 0;
    for (std::int64_t i = 0; i < integers.elements(); ++i)
      most = std::max(most, std::abs(integers.f64_at(i)));
    EXPECT_EQ(most, 127);
  }
}

}  // namespace
}  // namespace egret::backends
