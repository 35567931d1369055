// SPDX-License-Identifier: Apache-2.0
// The options of a training step as an option table: for a command line, and for plan files.
#pragma once

#include <string>
#include <vector>

#include "base/formats/json.h"
#include "base/options/option_table.h"
#include "ir/autodiff/training_graph.h"

namespace egret::ir {

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
  TrainingOptions options() const;
};

// As an object with a member for each option; and back. Errors: bad_input.
base::Json to_json(const TrainingArguments& arguments);
base::Result<TrainingArguments> read_training(const base::Json& json);

// The graph of one step. Errors: of training_graph(), located at the file `path`.
base::Result<TrainingGraph> training_step(const Graph& model, const TrainingArguments& arguments,
                                          const std::string& path);

}  // namespace egret::ir
