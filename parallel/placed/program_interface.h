// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a placed program, as those who run it bind them, and the model that it is
// of.
#pragma once

#include <string>

#include "base/status.h"
#include "ir/autodiff/training_graph.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// In hex: a hash of operators, constants, sizes and names of values. The model's name and metadata
// do not count, since they change no result.
std::string model_hash(const ir::Graph& model);

// Outputs are known by place when a step runs, and by name when they are saved: they must be the
// model's, in its order. Errors: mismatch.
base::Status check_outputs(const PlacedGraph& placed, const ir::Graph& model);

// Each node that reads a parameter or a state, and no other, takes its next value in the next step.
// `step`: null for a program that is of no training step. Errors: mismatch that names the input.
base::Status check_carried(const PlacedGraph& placed, const ir::TrainingGraph* step);

}  // namespace egret::parallel
