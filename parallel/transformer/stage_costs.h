// SPDX-License-Identifier: Apache-2.0
// Time and memory of the passes of one pipeline stage on one device.
#pragma once

#include <vector>

#include "parallel/system/system.h"
#include "parallel/transformer/kernel_list.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// Consecutive layers that one task computes.
struct StagePiece {
  KernelTime forward, backward, inputs, weights;
  double parameters = 0;
  double kept_bytes = 0;  // from the forward to the backward pass, for one micro-batch
};

struct StageCosts {
  std::vector<StagePiece> pieces;  // in the order of the forward pass
  double parameters = 0;
  double embedding_parameters = 0;  // of weights that the first and the last stage share
  double kept_bytes = 0;
  double workspace_bytes = 0;  // of a backward pass: a recomputed layer
};

// By stage. With by_layer, each layer is a piece; the embedding and the output layer belong to the
// first and the last one. Otherwise a stage is one piece. Stage s belongs to pipeline rank
// s % setup.pipeline, whose ranks are setup.tensor x setup.context x setup.data neighbours; the
// slowest of their accelerators counts.
std::vector<StageCosts> stage_costs(const System& system, const TrainingSetup& setup,
                                    bool by_layer);

}  // namespace egret::parallel
