// SPDX-License-Identifier: Apache-2.0
// One training step as one graph: forward, loss, backward, update of the parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph/builder.h"

namespace egret::ir {

struct TrainingOptions {
  std::string loss = "cross_entropy";
  std::string optimizer = "sgd";
  std::string model_output{};  // the output that the loss reads; empty: the first one
  // names of constants that are not trained; a final * matches any ending
  std::vector<std::string> freeze{};
  double learning_rate = 0.01;
  double momentum = 0.9;                                   // optimizer momentum
  double beta1 = 0.9, beta2 = 0.999, adam_epsilon = 1e-8;  // optimizer adam
};

// Inputs of `graph`: the model's, "labels", the parameters, the optimizer's state. Outputs: "loss",
// then for each parameter and state NAME its next value, "NAME.next".
struct TrainingGraph {
  Graph graph;
  std::vector<std::string> parameters;  // names
  std::vector<std::string> state;       // names: what all parameters share, then that of each
  std::size_t shared_state = 0;         // how many of them all parameters share
  std::vector<Tensor> initial;          // of the parameters, then of the state
  std::size_t model_inputs = 0;
  std::int64_t classes = 0;           // labels are below this; 0: labels are real
  std::size_t forward_operators = 0;  // of the loss alone
};

// The parameters are the model's named real constants with at least one axis, except inputs that
// hold statistics of data (measured_inputs() in ir/graph/adjoint.h). Sizes must be known. With
// class labels the loss takes logits [..., C] and integers [...]. Errors: usage for names that do
// not exist; bad_input for an output that the loss cannot take, or a model without parameters;
// unsupported for symbolic sizes.
base::Result<TrainingGraph> training_graph(const Graph& model, const TrainingOptions& options);

// The parts of a step, for programs that compute it piece by piece (parallel/pipeline/).
//
// The step before differentiation: the same inputs, and the output "loss" alone. Composites without
// a gradient of their own are expanded. Errors: as training_graph().
base::Result<TrainingGraph> loss_graph(const Graph& model, const TrainingOptions& options);
// The optimizer alone, for some of a step's parameters (positions in step.parameters, ascending).
// Inputs: their gradients ("NAME.gradient"), the parameters, the state that the optimizer shares,
// then the state of each parameter. Outputs: what replaces the inputs after the gradients, in their
// order, "NAME.next". The names of the state inputs are those of the step.
base::Result<Graph> update_graph(const TrainingGraph& step, std::span<const std::size_t> parameters,
                                 const TrainingOptions& options);

// Losses and optimizers, by name.
struct TrainingRow {
  std::string_view name, summary;
};
std::span<const TrainingRow> losses();
std::span<const TrainingRow> optimizers();

}  // namespace egret::ir
