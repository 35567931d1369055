// SPDX-License-Identifier: Apache-2.0
// Emitted kernels in plans of the default backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/codegen/host_compiler.h"
#include "backends/timing/measure.h"
#include "ir/evaluate/interpreter.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"
#include "tests/codegen/needs_host_compiler.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Integers;
using ir::Value;

std::unique_ptr<ExecutablePlan> plan_of(const ir::Graph& graph, Emission emission,
                                        int threads = 1) {
  auto plan = find_backend("cpu")->compile(graph, {.threads = threads, .emission = emission});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? *std::move(plan) : nullptr;
}

// The outputs are integers, which are the same whoever computes them.
void expect_same_integers(ExecutablePlan& plan, const ir::Graph& graph) {
  const auto inputs = random_inputs(plan, base::Random(1));
  const auto expected = ir::interpret(graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  for (int run = 0; run < 2; ++run) {
    const auto actual = plan.run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status().message();
    for (std::size_t k = 0; k < expected->size(); ++k)
      EXPECT_TRUE(std::ranges::equal((*actual)[k].data(), (*expected)[k].data())) << k;
  }
}

// Of integers, which no kernel of the backend adds.
ir::Graph integer_chain(ir::Dims dims, DType type = DType::kI64) {
  GraphBuilder b;
  const Value x = b.input("x", {type, dims});
  const Value y = b.input("y", {type, std::move(dims)});
  b.output("z", b.add("max", {b.add("add", {b.add("mul", {x, y}), x}), b.add("neg", {y})}));
  auto graph = std::move(b).finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

class EmittedKernel : public codegen::NeedsHostCompiler<::testing::Test> {};

TEST_F(EmittedKernel, ComputesNeighboursWithoutKernelsTogether) {
  const ir::Graph graph = integer_chain({6, 5});
  for (const int threads : {1, 2}) {
    const auto plan = plan_of(graph, Emission::kAll, threads);
    const PlanReport report = plan->report();
    ASSERT_EQ(report.kernels.size(), 1U);
    EXPECT_EQ(report.kernels[0].name, "emitted");
    EXPECT_EQ(report.kernels[0].implementation, "c++");
    EXPECT_EQ(report.kernels[0].nodes.size(), 4U);
    EXPECT_TRUE(report.fallbacks.empty());
    expect_same_integers(*plan, graph);
  }
}

TEST_F(EmittedKernel, StandsAloneWithoutFusion) {
  const ir::Graph graph = integer_chain({6, 5});
  const auto plan = find_backend("cpu")->compile(
      graph, {.threads = 1, .fuse = false, .emission = Emission::kAll});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ((*plan)->report().kernels.size(), 4U);
  EXPECT_TRUE((*plan)->report().fallbacks.empty());
  expect_same_integers(**plan, graph);
}

TEST_F(EmittedKernel, TakesNothingFromOtherKernels) {
  GraphBuilder b;
  base::Random random(3);
  const Value x = b.input("x", {DType::kF32, {16, 32}});
  const Value w = b.constant(ir::Tensor::random({DType::kF32, {32, 24}}, random));
  const Value product = b.add("relu", {b.add("matmul", {x, w})});
  const Value sums = b.add("cum_sum", {product}, {{"axis", 1}});
  b.output("y", b.add("softmax", {b.add("tanh", {sums})}, {{"axis", 1}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const PlanReport report = plan_of(*graph, Emission::kAll)->report();
  std::vector<std::string> emitted;
  for (const PlanReport::Kernel& kernel : report.kernels) {
    if (kernel.name == "emitted")
      emitted.insert(emitted.end(), kernel.nodes.begin(), kernel.nodes.end());
  }
  ASSERT_EQ(emitted.size(), 1U);
  EXPECT_TRUE(emitted[0].starts_with("cum_sum")) << emitted[0];
  (void)expect_matches_reference(*graph, 1);
}

TEST_F(EmittedKernel, IsLeftOutWhereTheInterpreterIsSoonThrough) {
  // Of a type that is compiled nowhere, or the kernel, which is the same for all sizes, would be
  // found in the cache.
  const auto small = plan_of(integer_chain({7, 11}, DType::kI16), Emission::kWhereWorth)->report();
  ASSERT_EQ(small.fallbacks.size(), 1U);
  EXPECT_EQ(small.fallbacks[0].op, "max");
  EXPECT_EQ(small.fallbacks[0].reason,
            "no kernel for max; too little work to compile a kernel for");
  EXPECT_EQ(small.kernels[0].name, "reference");
  const ir::Graph graph = integer_chain({700, 1100});
  const auto large = plan_of(graph, Emission::kWhereWorth);
  EXPECT_TRUE(large->report().fallbacks.empty());
  expect_same_integers(*large, graph);
}

TEST_F(EmittedKernel, IsTakenFromTheCacheHoweverSmall) {
  const ir::Graph graph = integer_chain({5, 3}, DType::kI32);
  ASSERT_TRUE(plan_of(graph, Emission::kAll)->report().fallbacks.empty());
  EXPECT_TRUE(plan_of(graph, Emission::kWhereWorth)->report().fallbacks.empty());
}

TEST_F(EmittedKernel, CanBeDoneWithout) {
  const ir::Graph graph = integer_chain({6, 5});
  const auto plan = plan_of(graph, Emission::kNone);
  const PlanReport report = plan->report();
  ASSERT_EQ(report.fallbacks.size(), 4U);
  EXPECT_EQ(report.fallbacks[0].reason, "no kernel for mul");
  for (const PlanReport::Kernel& kernel : report.kernels) EXPECT_EQ(kernel.name, "reference");
  expect_same_integers(*plan, graph);
}

// A kernel may turn down what its table row seems to take: a border of other values.
TEST_F(EmittedKernel, ComputesWhatAKernelTurnsDown) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {1, 3, 6, 7}});
  b.output("y", b.add("pad", {b.add("relu", {x})},
                      {{"before", Integers{0, 0, 2, 1}},
                       {"after", Integers{0, 0, 1, 2}},
                       {"mode", "reflect"}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const PlanReport report = plan_of(*graph, Emission::kAll)->report();
  EXPECT_TRUE(report.fallbacks.empty());
  EXPECT_EQ(report.kernels.back().name, "emitted");
  (void)expect_matches_reference(*graph, 1);
}

// A composite whose kernel turns it down for more than its type: a scale of more than one axis.
TEST_F(EmittedKernel, ComputesACompositeThatItsKernelTurnsDown) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {2, 6, 7}});
  const Value scale = b.input("scale", {DType::kF32, {6, 7}});
  b.output("y", b.add("rms_norm", {b.add("relu", {x}), scale}, {{"axis", 2}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (const Emission emission : {Emission::kAll, Emission::kNone}) {
    const PlanReport report = plan_of(*graph, emission)->report();
    EXPECT_EQ(report.fallbacks.empty(), emission == Emission::kAll);
    EXPECT_EQ(report.kernels.size(), 2U);
  }
  (void)expect_matches_reference(*graph, 1);
}

// The composite's own kernel takes f32 alone; its body becomes one kernel.
TEST_F(EmittedKernel, ComputesACompositeOfAnotherTypeAtOnce) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF64, {9, 33}});
  const Value scale = b.input("scale", {DType::kF64, {33}});
  b.output("y", b.add("rms_norm", {x, scale}, {{"axis", 1}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const PlanReport report = plan_of(*graph, Emission::kAll)->report();
  EXPECT_EQ(report.kernels.size(), 1U);
  EXPECT_TRUE(report.fallbacks.empty());
  (void)expect_matches_reference(*graph, 1, 1e-12);
}

TEST_F(EmittedKernel, NeedsNoneForValuesWithoutElements) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kI64, {0, 4}});
  const Value y = b.add("add", {x, x});
  b.output("y", y);
  b.output("z", b.add("reduce_sum", {y}, {{"axes", Integers{0}}, {"keepdims", 0}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto plan = plan_of(*graph, Emission::kAll);
  EXPECT_TRUE(plan->report().fallbacks.empty());
  expect_same_integers(*plan, *graph);
}

// Of the operand of `shape` nothing is read, whoever computes it.
TEST_F(EmittedKernel, GivesOperatorsWhoseOperandsTypeAloneMatters) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF32, {3, 5}});
  b.output("y", b.add("shape", {x}, {{"start", 0}, {"end", 2}}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (const Emission emission : {Emission::kNone, Emission::kWhereWorth, Emission::kAll})
    expect_same_integers(*plan_of(*graph, emission), *graph);
}

// Of f64, for which the backend has no kernel.
ir::Graph product_of_doubles(std::int64_t size) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kF64, {size, size + 7}});
  const Value y = b.input("y", {DType::kF64, {size + 7, size}});
  b.output("z", b.add("neg", {b.add("matmul", {x, y})}));
  auto graph = std::move(b).finish();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return *std::move(graph);
}

TEST_F(EmittedKernel, ComputesLargeProductsInTiles) {
  const ir::Graph graph = product_of_doubles(230);
  EXPECT_TRUE(plan_of(graph, Emission::kWhereWorth)->report().fallbacks.empty());
  (void)expect_matches_reference(graph, 2, 1e-12);
}

// A tap that the padding excludes is no product with zero where its weight is infinite.
TEST_F(EmittedKernel, ComputesPaddedConvolutionsOfInfiniteWeights) {
  GraphBuilder b;
  std::vector<double> weights(8 * 4 * 9, 0.25);
  weights[0] = std::numeric_limits<double>::infinity();
  const Value x = b.add("abs", {b.input("x", {DType::kF32, {1, 4, 9, 11}})});
  const Value w = b.constant(ir::Tensor::of(DType::kF32, ir::Shape{8, 4, 3, 3}, weights));
  const Value y = b.add("conv", {x, w},
                        {{"strides", Integers{1, 1}},
                         {"pads", Integers{1, 1, 1, 1}},
                         {"dilations", Integers{1, 1}},
                         {"group", 1}});
  b.output("y", b.add("max", {y, b.scalar(DType::kF32, 0.0)}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto plan = find_backend("codegen")->compile(*graph, {.threads = 2});
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const auto inputs = random_inputs(**plan, base::Random(1));
  const auto expected = ir::interpret(*graph, inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  const auto actual = (*plan)->run(inputs);
  ASSERT_TRUE(actual.ok()) << actual.status().message();
  int finite = 0;
  for (std::int64_t i = 0; i < (*expected)[0].elements(); ++i) {
    const double e = (*expected)[0].f64_at(i), a = (*actual)[0].f64_at(i);
    finite += std::isfinite(e) ? 1 : 0;
    EXPECT_TRUE(std::isfinite(e) ? std::abs(a - e) < 1e-5 : a == e) << i << ": " << a << ", " << e;
  }
  EXPECT_GT(finite, 7 * 99);
}

TEST_F(EmittedKernel, ReportsWhatDataMakesFail) {
  GraphBuilder b;
  const Value x = b.input("x", {DType::kI64, {2}});
  const Value y = b.input("y", {DType::kI64, {2}});
  b.output("z", b.add("div", {x, y}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto plan = plan_of(*graph, Emission::kAll);
  ASSERT_TRUE(plan->report().fallbacks.empty());
  const std::int64_t by[] = {3, 0};
  const std::vector inputs{ir::Tensor::of_integers(by), ir::Tensor::of_integers(by)};
  EXPECT_EQ(plan->run(inputs).status().code(), base::StatusCode::kBadInput);
}

TEST_F(EmittedKernel, HasASignatureOfItsOwn) {
  const ir::Graph graph = integer_chain({6, 5});
  for (const auto& [emission, name] : {std::pair{Emission::kAll, "emitted by c++, "},
                                       {Emission::kNone, "reference by interpreter, "}}) {
    const auto plan =
        find_backend("cpu")->compile(graph, {.threads = 1, .profile = true, .emission = emission});
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const std::string signature = (*plan)->report().kernels[0].signature;
    EXPECT_TRUE(signature.starts_with(name)) << signature;
  }
}

}  // namespace
}  // namespace egret::backends
