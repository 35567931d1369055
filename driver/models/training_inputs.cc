// SPDX-License-Identifier: Apache-2.0
#include "driver/models/training_inputs.h"

#include <algorithm>
#include <utility>

namespace egret::driver {
namespace {

// Class numbers that are drawn or given become classes: modulo their number.
void fit_labels(const ir::TrainingGraph& step, ir::Tensor& labels) {
  for (std::int64_t i = 0; step.classes > 0 && i < labels.elements(); ++i) {
    const std::int64_t label = labels.i64_at(i) % step.classes;
    labels.set_i64(i, label < 0 ? label + step.classes : label);
  }
}

// The parameters and the state are those that the step begins with.
std::vector<ir::Tensor> begun(const ir::TrainingGraph& step, std::vector<ir::Tensor> inputs) {
  fit_labels(step, inputs[step.model_inputs]);
  std::ranges::copy(step.initial,
                    inputs.begin() + static_cast<std::ptrdiff_t>(step.model_inputs) + 1);
  return inputs;
}

}  // namespace

base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const InputOptions& options, std::int64_t seed) {
  EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> inputs, model_inputs(step.graph, options, seed));
  return begun(step, std::move(inputs));
}

base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const ir::GivenInputs& given,
                                                   std::int64_t seed) {
  std::vector<frontends::DeclaredInput> declared;
  for (const ir::NodeId id : step.graph.inputs())
    declared.push_back({step.graph.node(id).name, step.graph.node(id).type});
  EGRET_ASSIGN_OR_RETURN(const InputValues values, fit_inputs(declared, given));
  return begun(step, model_inputs(step.graph, values.values, seed));
}

}  // namespace egret::driver
