// SPDX-License-Identifier: Apache-2.0
// Kernels of several reductions over the same axes, with values of the pointwise operators that
// make what they reduce.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/joint_kernels.h"
#include "base/random.h"
#include "ir/graph/builder.h"
#include "tests/backends/graph_compare.h"

namespace egret::backends {
namespace {

using ir::DType;
using ir::GraphBuilder;
using ir::Value;

const Backend& cpu() { return *find_backend("cpu"); }

bool stores_together(const ir::Graph& graph) {
  return joint_kernels_of(cpu())->stores_together(graph, {});
}

ir::Attrs over(ir::Integers axes, bool keeps = false) {
  return {{"axes", std::move(axes)}, {"keepdims", std::int64_t{keeps ? 1 : 0}}};
}

std::vector<ir::NodeId> operators_of(const ir::Graph& graph) {
  std::vector<ir::NodeId> nodes;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (graph.node(ir::NodeId(i)).kind == ir::NodeKind::kOperator) nodes.emplace_back(i);
  }
  return nodes;
}

// All operators in one kernel; returns how it is made.
std::string run_as_one(const ir::Graph& graph, int threads) {
  CompileOptions options;
  options.division = {operators_of(graph)};
  options.threads = threads;
  options.guarded_memory = true;
  PlanReport report;
  EXPECT_LT(relative_error(graph, options, cpu(), &report), 1e-5);
  EXPECT_EQ(report.kernels.size(), 1U);
  return report.kernels.empty() ? "" : report.kernels[0].implementation;
}

// The moments of rows: the sum and the sum of squares.
TEST(JointReduction, ReadsTheValueOnceForSeveralSums) {
  for (const std::int64_t axis : {0, 1}) {
    for (const ir::Shape& shape : {ir::Shape{70, 300}, ir::Shape{3, 9000}, ir::Shape{900, 64}}) {
      GraphBuilder b;
      const Value x = b.input("x", {DType::kF32, shape});
      b.output("mean", b.add("reduce_mean", {x}, over({axis})));
      b.output("squares", b.add("reduce_sum", {b.add("mul", {x, x})}, over({axis}, true)));
      b.output("largest", b.add("reduce_max", {x}, over({axis})));
      b.output("least", b.add("reduce_min", {b.add("tanh", {x})}, over({axis})));
      const ir::Graph graph = *b.finish();
      EXPECT_TRUE(stores_together(graph));
      for (const int threads : {1, 2}) {
        const std::string made = run_as_one(graph, threads);
        EXPECT_EQ(made, axis == 0 ? "own:vectors of 2 instructions, 4 results"
                                  : "own:runs of 2 instructions, 4 results");
      }
    }
  }
}

TEST(JointReduction, StoresTheValueThatItReduces) {
  for (const ir::Shape& shape : {ir::Shape{5, 7, 130}, ir::Shape{2, 600, 64}}) {
    for (const ir::Integers& axes : {ir::Integers{2}, ir::Integers{0, 1}, ir::Integers{1, 2}}) {
      GraphBuilder b;
      const Value x = b.input("x", {DType::kF32, shape});
      const Value r = b.input("r", {DType::kF32, shape});
      const Value row = b.input("row", {DType::kF32, {shape[2]}});
      const Value sum = b.add("add", {b.add("mul", {x, row}), r});
      b.output("sum", sum);
      b.output("mean", b.add("reduce_mean", {sum}, over(axes)));
      b.output("squares", b.add("reduce_mean", {b.add("mul", {sum, sum})}, over(axes, true)));
      // Behind the reductions in the order of nodes.
      b.output("other", b.add("relu", {sum}));
      const ir::Graph graph = *b.finish();
      EXPECT_TRUE(stores_together(graph));
      for (const int threads : {1, 2}) run_as_one(graph, threads);
    }
  }
}

// The stored value may lie where an operand was, unless that operand is reduced, too.
TEST(JointReduction, MayOverwriteAnOperandThatNothingElseReads) {
  for (const bool reduces_operand : {false, true}) {
    GraphBuilder b;
    const Value x = b.input("x", {DType::kF32, {40, 100}});
    const Value made = b.add("exp", {x});
    const Value next = b.add("sub", {made, x});
    const Value mean = b.add("reduce_mean", {next}, over({1}));
    const Value largest = b.add("reduce_max", {reduces_operand ? made : next}, over({1}));
    const Value last = b.add("tanh", {next});
    b.output("mean", mean);
    b.output("largest", largest);
    b.output("last", last);
    const ir::Graph graph = *b.finish();
    CompileOptions options;
    options.division = {{made.id}, {next.id, mean.id, largest.id}, {last.id}};
    PlanReport report;
    EXPECT_LT(relative_error(graph, options, cpu(), &report), 1e-5);
    EXPECT_EQ(report.kernels.size(), 3U);
  }
}

TEST(JointReduction, IsRefusedWhereOnePassDoesNotDo) {
  const auto refused = [](auto&& build) {
    GraphBuilder b;
    build(b, b.input("x", {DType::kF32, {40, 100}}));
    return !stores_together(*b.finish());
  };
  // Another kernel's result is needed first.
  EXPECT_TRUE(refused([](GraphBuilder& b, Value x) {
    const Value mean = b.add("reduce_mean", {x}, over({1}, true));
    b.output("mean", mean);
    b.output("centered", b.add("sub", {x, mean}));
  }));
  EXPECT_TRUE(refused([](GraphBuilder& b, Value x) {
    b.output("rows", b.add("reduce_mean", {x}, over({1})));
    b.output("columns", b.add("reduce_mean", {x}, over({0})));
  }));
  EXPECT_TRUE(refused([](GraphBuilder& b, Value x) {
    b.output("positive", b.add("less", {b.constant(ir::Tensor::filled({DType::kF32, {}}, 0)), x}));
    b.output("mean", b.add("reduce_mean", {x}, over({1})));
  }));
  // Of short runs.
  EXPECT_TRUE(refused([](GraphBuilder& b, Value) {
    const Value x = b.input("short", {DType::kF32, {100, 8}});
    b.output("mean", b.add("reduce_mean", {x}, over({1})));
    b.output("largest", b.add("reduce_max", {x}, over({1})));
  }));
}

// Random pointwise operators and reductions of their values, in two kernels.
TEST(JointReduction, OfRandomProgramsIsAsTheInterpreterSays) {
  base::Random random(21);
  int joint = 0, one_kernel = 0;
  for (int trial = 0; trial < 200; ++trial) {
    GraphBuilder b;
    const bool cube = trial % 2 == 0;
    const std::int64_t inner = 64 + static_cast<std::int64_t>(random.below(600));
    const ir::Shape shape = cube ? ir::Shape{3, 5, inner} : ir::Shape{1 + trial % 9, inner};
    const std::vector<ir::Integers> choices =
        cube ? std::vector<ir::Integers>{{0}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}}
             : std::vector<ir::Integers>{{0}, {1}, {0, 1}};
    const ir::Integers axes = choices[random.below(choices.size())];
    const Value x = b.input("x", {DType::kF32, shape});
    std::vector<Value> whole{x, b.input("y", {DType::kF32, shape})};
    std::vector<Value> values = whole;
    values.push_back(b.input("row", {DType::kF32, {inner}}));
    std::vector<ir::NodeId> nodes;
    int reductions = 0;
    for (int k = 0; k < 7; ++k) {
      const Value any = values[random.below(values.size())];
      const Value one = whole[random.below(whole.size())];
      const char* const reducers[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"};
      Value made;
      if (random.chance(0.4)) {
        made = b.add(reducers[random.below(4)], {one}, over(axes, random.chance(0.5)));
        ++reductions;
      } else {
        switch (random.below(3)) {
          case 0: made = b.add("add", {one, any}); break;
          case 1: made = b.add("tanh", {one}); break;
          default: made = b.add("mul", {any, one});
        }
        values.push_back(made);
        whole.push_back(made);
      }
      nodes.push_back(made.id);
      if (k == 6 || random.chance(0.5)) b.output("o" + std::to_string(k), made);
    }
    const auto graph = b.finish();
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    const auto cut = nodes.begin() + static_cast<std::ptrdiff_t>(random.below(nodes.size() - 1));
    CompileOptions options;
    options.division = {{nodes.begin(), cut + 1}, {cut + 1, nodes.end()}};
    options.guarded_memory = trial % 4 < 2;
    options.threads = 1 + trial % 2;
    PlanReport report;
    // What is neither read nor an output is left out of the graph's kernels.
    EXPECT_LT(relative_error(*graph, options, cpu(), &report), 1e-5) << trial;
    joint += std::ranges::any_of(report.kernels, [](const PlanReport::Kernel& kernel) {
      return kernel.name == "reduce" && kernel.implementation.find("results") != std::string::npos;
    });
    one_kernel += reductions > 0 && report.kernels.size() <= 2;
  }
  EXPECT_GT(joint, 60);
  EXPECT_GT(one_kernel, 60);
}

}  // namespace
}  // namespace egret::backends
