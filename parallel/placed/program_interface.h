// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a placed program, as those who run it bind them.
#pragma once

#include "base/status.h"
#include "ir/autodiff/training_graph.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// Outputs are known by place when a step runs, and by name when they are saved: they must be the
// model's, in its order. Errors: mismatch.
base::Status check_outputs(const PlacedGraph& placed, const ir::Graph& model);

// Each node that reads a parameter or a state, and no other, takes its next value in the next step.
// `step`: null for a program that is of no training step. Errors: mismatch that names the input.
base::Status check_carried(const PlacedGraph& placed, const ir::TrainingGraph* step);

}  // namespace egret::parallel
