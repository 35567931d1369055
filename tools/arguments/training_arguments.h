// SPDX-License-Identifier: Apache-2.0
// Training as an argument of verbs: which loss, which optimizer.
#pragma once

#include <string>
#include <vector>

#include "base/formats/json.h"
#include "base/options/option_table.h"
#include "ir/autodiff/training_graph.h"
#include "tools/arguments/backend_arguments.h"

namespace egret::tools {

struct TrainingArguments {
  std::string loss = "cross_entropy";
  std::string optimizer = "sgd";
  double lr = 0.01;
  double momentum = 0.9;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double adam_epsilon = 1e-8;
  std::string loss_of;
  std::vector<std::string> freeze;

  static const base::OptionTable<TrainingArguments>& table();
  ir::TrainingOptions options() const;
};

// As an object with a member for each option; and back. Errors: bad_input.
base::Json to_json(const TrainingArguments& arguments);
base::Result<TrainingArguments> read_training(const base::Json& json);

// The graph of one step. Errors: of ir::training_graph(), located at the file `path`.
base::Result<ir::TrainingGraph> training_step(const ir::Graph& model,
                                              const TrainingArguments& arguments,
                                              const std::string& path);

// Of the first step: the model's inputs and labels random or as --input gives them, class numbers
// modulo the number of classes; parameters and state as they begin.
base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const BackendOptions& options);

}  // namespace egret::tools
