// SPDX-License-Identifier: Apache-2.0
// Inputs of the first step: what is drawn, and what begins.
#include "driver/models/training_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "base/random.h"
#include "base/stop.h"
#include "ir/autodiff/training_arguments.h"
#include "ir/evaluate/input_draws.h"
#include "ir/graph/builder.h"

namespace egret::driver {
namespace {

ir::TrainingGraph step() {
  ir::GraphBuilder b;
  const ir::Value x = b.input("x", {ir::DType::kF32, {4, 3}});
  base::Random random(7);
  const ir::Value w = b.constant(ir::drawn({ir::DType::kF32, {3, 2}}, {-1, 1}, random), "w");
  b.output("y", b.add("matmul", {x, w}));
  ir::TrainingArguments arguments;
  arguments.loss = "mse";
  arguments.optimizer = "adam";
  return ir::training_step(*b.finish(), arguments, "model").value();
}

bool same(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.type() != b.type()) return false;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    if (a.f64_at(i) != b.f64_at(i)) return false;
  }
  return true;
}

// Inputs and labels are those that all inputs of the graph are drawn with, from the same seed.
TEST(TrainingInputs, AreDrawnOnlyWhereNothingBegins) {
  const ir::TrainingGraph graph = step();
  const auto inputs = first_inputs(graph, InputOptions{}, 5);
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  ASSERT_EQ(inputs->size(), graph.graph.inputs().size());
  ASSERT_GT(inputs->size(), graph.model_inputs + 2);  // parameters, and the optimizer's state
  base::Random random(5);
  const std::vector<ir::Tensor> drawn = ir::random_inputs(graph.graph, random);
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    const bool begins = i > graph.model_inputs;
    EXPECT_TRUE(same((*inputs)[i], begins ? graph.initial[i - graph.model_inputs - 1] : drawn[i]))
        << i;
  }
}

TEST(TrainingInputs, StopOnSignals) {
  const ir::TrainingGraph graph = step();
  base::request_stop(SIGTERM);
  const auto inputs = first_inputs(graph);
  base::request_stop(0);
  ASSERT_FALSE(inputs.ok());
  EXPECT_EQ(inputs.status().code(), base::StatusCode::kLimit);
}

}  // namespace
}  // namespace egret::driver
