// SPDX-License-Identifier: Apache-2.0
// Some steps of a model on a pipeline whose ranks are threads, and in one process.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "backends/named_backend.h"
#include "ir/evaluate/input_draws.h"
#include "runtime/pipeline/pipeline_run.h"
#include "runtime/pipeline/stage_plans.h"
#include "tests/parallel/pipeline_models.h"

namespace egret::runtime {

using namespace parallel;

// Losses, and the variables after the last step.
struct Trained {
  std::vector<double> losses;
  std::vector<ir::Tensor> variables;
};

inline constexpr int kSteps = 3;

inline std::vector<ir::Tensor> inputs_of(const ir::TrainingGraph& step) {
  base::Random random(5);
  std::vector<ir::Tensor> inputs = ir::random_inputs(step.graph, random);
  std::ranges::copy(step.initial,
                    inputs.begin() + static_cast<std::ptrdiff_t>(step.model_inputs) + 1);
  return inputs;
}

// The whole batch as one graph, in one process.
inline Trained expected_of(const ir::Graph& model, const ir::TrainingOptions& training) {
  const ir::TrainingGraph step = ir::training_graph(model, training).value();
  const auto plan = backends::find_backend("cpu")->compile(step.graph, {.threads = 1}).value();
  std::vector<ir::Tensor> inputs = inputs_of(step);
  const auto first = static_cast<std::ptrdiff_t>(step.model_inputs) + 1;
  Trained result;
  for (int i = 0; i < kSteps; ++i) {
    const std::vector<ir::Tensor> outputs = plan->run(inputs).value();
    result.losses.push_back(outputs[0].f64_at(0));
    std::copy(outputs.begin() + 1, outputs.end(), inputs.begin() + first);
  }
  result.variables.assign(inputs.begin() + first, inputs.end());
  return result;
}

inline base::Result<Trained> trained_on(const ir::Graph& model, const ir::TrainingOptions& training,
                                        const PipelineShape& shape, bool overlap = true,
                                        const std::string& strategy = "tensor") {
  EGRET_ASSIGN_OR_RETURN(PipelineLayout layout, pipeline_layout(model, training, shape, {}));
  EGRET_ASSIGN_OR_RETURN(const Ranks ranks, Ranks::join({.limit_exchange_s = 20, .on_hang = {}}));
  EGRET_RETURN_IF_ERROR(
      plan_and_divide_stages(layout, machine_of("x=2"), {.strategy = strategy}, ranks));
  EGRET_ASSIGN_OR_RETURN(
      const auto run, PipelineRun::start(std::move(layout), training, ranks, {.overlap = overlap}));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph reduced, model_of_loss(model, training));
  EGRET_ASSIGN_OR_RETURN(const ir::TrainingGraph step, ir::training_graph(reduced, training));
  EGRET_RETURN_IF_ERROR(run->begin(inputs_of(step)));
  Trained result;
  for (int i = 0; i < kSteps; ++i) {
    EGRET_ASSIGN_OR_RETURN(const double loss, run->step());
    result.losses.push_back(loss);
  }
  EGRET_ASSIGN_OR_RETURN(result.variables, run->end());
  return result;
}

inline void expect_near(const Trained& found, const Trained& expected) {
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < found.losses.size(); ++i)
    EXPECT_NEAR(found.losses[i], expected.losses[i], 1e-5 * std::abs(expected.losses[i]));
  ASSERT_EQ(found.variables.size(), expected.variables.size());
  for (std::size_t v = 0; v < found.variables.size(); ++v) {
    ASSERT_EQ(found.variables[v].type(), expected.variables[v].type());
    for (std::int64_t i = 0; i < found.variables[v].elements(); ++i)
      ASSERT_NEAR(found.variables[v].f64_at(i), expected.variables[v].f64_at(i), 2e-5) << v;
  }
}

inline bool equal_bits(const Trained& a, const Trained& b) {
  if (a.losses != b.losses || a.variables.size() != b.variables.size()) return false;
  for (std::size_t v = 0; v < a.variables.size(); ++v) {
    if (!std::ranges::equal(a.variables[v].data(), b.variables[v].data())) return false;
  }
  return true;
}

}  // namespace egret::runtime
