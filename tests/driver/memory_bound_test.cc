// SPDX-License-Identifier: Apache-2.0
#include "driver/select/memory_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/graph/builder.h"
#include "rules/tensors/saturated_graph.h"
#include "zoo/zoo.h"

namespace egret::driver {
namespace {

constexpr std::int64_t kFloat = 4;

const backends::Backend& cpu() { return *backends::find_backend("cpu"); }

std::int64_t bound_of(const ir::Graph& graph, std::string_view rule_names) {
  const auto rules = rules::AdmittedRules::select(rule_names);
  EXPECT_TRUE(rules.ok());
  rules::SaturateOptions options;
  options.limits.nodes = 3000;
  const auto saturated = rules::saturate(graph, *rules, options, 1);
  EXPECT_TRUE(saturated.ok());
  const auto view = egraph::make_view(saturated->tensors->egraph(), saturated->tensors->roots());
  return least_arena(view, held_bytes(*saturated->tensors, view, cpu()));
}

// Of the plan that gives up the most speed.
std::int64_t least_planned(const ir::Graph& graph) {
  const auto plan = cpu().compile(graph, {.threads = 1, .limit_arena = 1});
  EXPECT_TRUE(plan.ok());
  return (*plan)->report().arena_bytes;
}

// Behind a function, so that no rule multiplies the weights of two products.
ir::Value product(ir::GraphBuilder& b, ir::Value x, std::int64_t rows, std::int64_t columns) {
  base::Random random(1);
  const ir::TensorType type(ir::DType::kF32, ir::Shape{rows, columns});
  return b.add("tanh", {b.add("matmul", {x, b.constant(ir::Tensor::random(type, random))})});
}

TEST(MemoryBound, AProductHoldsWhatItReadsAndWhatItMakes) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, ir::Shape{1, 8}));
  const ir::Value wide = product(b, x, 8, 1000);
  b.output("y", product(b, product(b, wide, 1000, 600), 600, 2));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(bound_of(*graph, "default"), (1000 + 600) * kFloat);
  EXPECT_GE(least_planned(*graph), (1000 + 600) * kFloat);
}

TEST(MemoryBound, WhatLiesInInputsOrMayLieInOutputsIsNotCounted) {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", ir::TensorType(ir::DType::kF32, ir::Shape{1000, 1}));
  const ir::Value row = b.add("reshape", {x}, {{"shape", ir::Integers{1, 1000}}});
  b.output("y", b.add("relu", {product(b, row, 1000, 500)}));
  const auto graph = b.finish();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(bound_of(*graph, "default"), 0);
}

TEST(MemoryBound, IsNotAboveWhatAPlanTakes) {
  for (const std::string_view name : {"squeezenet1.1", "mobilenet-v2", "resnet18"}) {
    const zoo::ZooRow* model = zoo::find_model(name);
    ASSERT_NE(model, nullptr) << name;
    const auto graph = model->build({});
    ASSERT_TRUE(graph.ok());
    const std::int64_t bound = bound_of(*graph, "default");
    EXPECT_GT(bound, 0) << name;
    EXPECT_LE(bound, least_planned(*graph)) << name;
  }
}

}  // namespace
}  // namespace egret::driver
