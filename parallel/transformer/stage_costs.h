// SPDX-License-Identifier: Apache-2.0
// Time and memory of the passes of one pipeline stage on one device.
#pragma once

#include <array>
#include <vector>

#include "parallel/system/system.h"
#include "parallel/transformer/kernel_list.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// Consecutive layers that one task computes.
struct StagePiece {
  KernelTime forward, backward, inputs, weights;
  double parameters = 0;
  double expert_parameters = 0;  // of these, of experts
  double kept_bytes = 0;         // from the forward to the backward pass, for one micro-batch
};

// A part of the model with its time in both directions.
struct ModelBlock {
  KernelTime forward, backward, inputs, weights;
  double parameters = 0;
  double expert_parameters = 0;
  double kept_bytes = 0;
};

// From the kernels of its passes.
ModelBlock block_of(const System& system, const TrainingSetup& setup, const KernelList& forward,
                    const KernelList& backward, double parameters, double kept_bytes);

// The parts that stages are made of, on the system's accelerator.
struct ModelBlocks {
  std::array<ModelBlock, 3> layer;         // by Recompute
  std::array<ModelBlock, 3> expert_layer;  // empty without experts
  // By layer, where all are different (wide_resnet.h); then there are no others.
  std::vector<std::array<ModelBlock, 3>> layers;
  std::vector<std::array<double, 3>> layer_workspace_bytes;
  ModelBlock embedding, head;
  // Of a backward pass through a layer, by Recompute: what it computes again.
  std::array<double, 3> workspace_bytes{}, expert_workspace_bytes{};
};
// They depend on the setup's sizes, its precision and overlaps, its tensor and context degrees,
// sequence parallelism, and the size of a micro-batch. The head has its own weights.
ModelBlocks model_blocks(const System& system, const TrainingSetup& setup);

struct StageCosts {
  std::vector<StagePiece> pieces;  // in the order of the forward pass
  std::int64_t layers = 0;
  double parameters = 0;
  double expert_parameters = 0;     // of these, of experts
  double embedding_parameters = 0;  // of weights that the first and the last stage share
  double kept_bytes = 0;
  double workspace_bytes = 0;  // of a backward pass: a recomputed layer
};

// By stage. With by_layer, each layer is a piece; the embedding and the output layer belong to the
// first and the last one. Layers that are recomputed in full come first, those that are not last.
// Otherwise a stage is one piece. Stage s belongs to pipeline rank s % setup.pipeline, whose ranks
// are setup.stages(); the slowest of a rank's accelerators counts.
std::vector<StageCosts> stage_costs(const System& system, const TrainingSetup& setup,
                                    bool by_layer);

}  // namespace egret::parallel
