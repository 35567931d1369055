// SPDX-License-Identifier: Apache-2.0
#include "tools/arguments/training_inputs.h"

#include <algorithm>

namespace egret::tools {
namespace {

// Class numbers that are drawn or given become classes: modulo their number.
void fit_labels(const ir::TrainingGraph& step, ir::Tensor& labels) {
  for (std::int64_t i = 0; step.classes > 0 && i < labels.elements(); ++i) {
    const std::int64_t label = labels.i64_at(i) % step.classes;
    labels.set_i64(i, label < 0 ? label + step.classes : label);
  }
}

}  // namespace

base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const InputOptions& options, std::int64_t seed) {
  EGRET_ASSIGN_OR_RETURN(std::vector<ir::Tensor> inputs, model_inputs(step.graph, options, seed));
  fit_labels(step, inputs[step.model_inputs]);
  std::ranges::copy(step.initial,
                    inputs.begin() + static_cast<std::ptrdiff_t>(step.model_inputs) + 1);
  return inputs;
}

}  // namespace egret::tools
