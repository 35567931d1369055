// SPDX-License-Identifier: Apache-2.0
// Inputs of a training step.
#pragma once

#include <vector>

#include "driver/models/input_values.h"
#include "ir/autodiff/training_graph.h"

namespace egret::driver {

// Of the first step: the model's inputs and labels random or as --input gives them, class numbers
// modulo the number of classes; parameters and state as they begin.
base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const InputOptions& options = {},
                                                   std::int64_t seed = 1);
// The same with values in memory, by the input's name.
base::Result<std::vector<ir::Tensor>> first_inputs(const ir::TrainingGraph& step,
                                                   const ir::GivenInputs& given, std::int64_t seed);

}  // namespace egret::driver
