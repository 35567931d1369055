// SPDX-License-Identifier: Apache-2.0
#include "driver/models/training_inputs.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/stop.h"
#include "ir/evaluate/input_draws.h"

namespace egret::driver {
namespace {

// Class numbers that are drawn or given become classes: modulo their number.
void fit_labels(const ir::TrainingGraph& step, ir::Tensor& labels) {
  for (std::int64_t i = 0; step.classes > 0 && i < labels.elements(); ++i) {
    const std::int64_t label = labels.i64_at(i) % step.classes;
    labels.set_i64(i, label < 0 ? label + step.classes : label);
  }
}

// The parameters and the state are those that the step begins with: only the model's inputs and the
// labels, which come first, are drawn. A large model's others take seconds to draw.
base::Result<std::vector<ir::Tensor>> begun(const ir::TrainingGraph& step,
                                            const ir::GivenInputs& given, std::int64_t seed) {
  base::Random random(static_cast<std::uint64_t>(seed));
  const std::vector<ir::Draw> draws = ir::input_draws(step.graph);
  std::vector<ir::Tensor> inputs;
  for (std::size_t i = 0; i <= step.model_inputs; ++i) {
    if (base::stop_requested()) return base::limit_hit("interrupted while inputs were drawn");
    inputs.push_back(ir::drawn(step.graph.node(step.graph.inputs()[i]).type, draws[i], random));
  }
  inputs.insert(inputs.end(), step.initial.begin(), step.initial.end());
  ir::put_given(step.graph, given, inputs);
  std::ranges::copy(step.initial,
                    inputs.begin() + static_cast<std::ptrdiff_t>(step.model_inputs) + 1);
  fit_labels(step, inputs[step.model_inputs]);
  return inputs;
}

std::vector<frontends::DeclaredInput> declared_inputs(const ir::TrainingGraph& step) {
  std::vector<frontends::DeclaredInput> declared;
  for (const ir::NodeId id : step.graph.inputs())
    declared.push_back({step.graph.node(id).name, step.graph.node(id).type});
  return declared;
}

}  // namespace

base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const InputOptions& options, std::int64_t seed) {
  EGRET_ASSIGN_OR_RETURN(const InputValues files, read_inputs(declared_inputs(step), options));
  return begun(step, files.values, seed);
}

base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const ir::GivenInputs& given,
                                                   std::int64_t seed) {
  EGRET_ASSIGN_OR_RETURN(const InputValues values, fit_inputs(declared_inputs(step), given));
  return begun(step, values.values, seed);
}

}  // namespace egret::driver
