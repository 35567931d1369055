// SPDX-License-Identifier: Apache-2.0
// Inputs of a training step as an argument of verbs.
#pragma once

#include <vector>

#include "ir/autodiff/training_graph.h"
#include "tools/arguments/input_files.h"

namespace egret::tools {

// Of the first step: the model's inputs and labels random or as --input gives them, class numbers
// modulo the number of classes; parameters and state as they begin.
base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const InputOptions& options = {},
                                                   std::int64_t seed = 1);

}  // namespace egret::tools
