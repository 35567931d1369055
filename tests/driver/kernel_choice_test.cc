// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_choice.h"

#include <gtest/gtest.h>

#include "driver/optimize.h"
#include "ir/graph/builder.h"
#include "zoo/zoo.h"

namespace egret::driver {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Value;

// Two convolutions with bias and relu, a sum with the first, a mean and a product with softmax.
ir::Graph small_network() {
  GraphBuilder b;
  base::Random random(7);
  const auto weights = [&](ir::Shape shape) {
    return b.constant(ir::Tensor::random({DType::kF32, shape}, random));
  };
  const ir::Attrs same{{"strides", ir::Integers{1, 1}},
                       {"dilations", ir::Integers{1, 1}},
                       {"pads", ir::Integers{1, 1, 1, 1}}};
  const Value x = b.input("x", {DType::kF32, {1, 16, 14, 14}});
  const auto layer = [&](Value value) {
    const Value y = b.add("conv", {value, weights({16, 16, 3, 3})}, same);
    return b.add("relu", {b.add("add", {y, weights({16, 1, 1})})});
  };
  const Value first = layer(x);
  const Value sum = b.add("add", {layer(first), first});
  const Value mean = b.add("reduce_mean", {sum}, {{"axes", ir::Integers{2, 3}}});
  const Value flat = b.add("reshape", {mean}, {{"shape", ir::Integers{1, 16}}});
  b.output("y", b.add("softmax", {b.add("matmul", {flat, weights({16, 10})})},
                      {{"axis", std::int64_t{1}}}));
  return *b.finish();
}

OptimizeOptions by_kernels() {
  OptimizeOptions options;
  options.kernels_from = "egraph";
  options.cost_db = ":memory:";
  options.threads = 1;
  options.profile_time = 5;
  options.measure_time = 0.1;
  return options;
}

TEST(KernelChoice, GivesACheckedProgramWhoseKernelsArePredicted) {
  const auto result = optimize(small_network(), by_kernels());
  ASSERT_TRUE(result.ok()) << result.status().message();
  const OptimizeReport& report = result->report;
  EXPECT_TRUE(report.check.outputs.passed);
  ASSERT_FALSE(report.race.candidates.empty());
  // Either a program of its own, or the one of the others that is fastest as the backend divides
  // it.
  for (const OptimizeReport::Race::Entry& candidate : report.race.candidates)
    EXPECT_GT(candidate.predicted_s, 0);
  EXPECT_FALSE(report.predicted.operators_before.empty());
  EXPECT_GT(report.extraction.cost_s, 0);
  EXPECT_LE(report.extraction.bound_s, report.extraction.cost_s);
}

TEST(KernelChoice, WithoutMeasuringTakesEstimates) {
  OptimizeOptions options = by_kernels();
  options.cost = "roofline";
  options.no_measure = true;
  const auto first = optimize(small_network(), options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_TRUE(first->report.check.outputs.passed);
  const auto second = optimize(small_network(), options);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first->graph.size(), second->graph.size());
  EXPECT_EQ(first->report.extraction.cost_s, second->report.extraction.cost_s);
}

TEST(KernelChoice, TakesATransformerBlock) {
  const auto graph = zoo::find_model("bert-pet")->build({});
  ASSERT_TRUE(graph.ok());
  OptimizeOptions options = by_kernels();
  options.cost = "roofline";
  options.no_measure = true;
  options.limit_nodes = 3000;
  const auto result = optimize(*graph, options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->report.check.outputs.passed);
}

TEST(KernelChoice, RefusesWhatItCannotBeCombinedWith) {
  const ir::Graph graph = small_network();
  OptimizeOptions options = by_kernels();
  options.limit_arena = 1 << 20;
  EXPECT_EQ(optimize(graph, options).status().code(), base::StatusCode::kUsage);
  options = by_kernels();
  options.extractor = "backtracking";
  EXPECT_EQ(optimize(graph, options).status().code(), base::StatusCode::kUsage);
}

}  // namespace
}  // namespace egret::driver
