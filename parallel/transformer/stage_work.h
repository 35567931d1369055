// SPDX-License-Identifier: Apache-2.0
// The work of a training step, cut into the chunks of layers that pipeline ranks own. A simulator
// or a closed form puts it in order.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "parallel/system/system.h"
#include "parallel/transformer/kernel_list.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

struct ChunkWork {
  std::int64_t layers = 0;
  KernelTime forward, backward;  // of one micro-batch; the backward pass with recomputation
  KernelTime inputs, weights;    // the parts of the backward pass
  double parameters = 0;         // on one device
  double expert_parameters = 0;  // of these, of experts
  double kept_bytes = 0;         // activations of one micro-batch, from forward to backward
  double workspace_bytes = 0;    // of the backward pass, while it runs
};

// Chunk c belongs to pipeline rank c % setup.pipeline. The first holds the embedding, the last the
// output layer. Devices of a rank are those of setup.stages(); the
// slowest of their accelerators counts. O(chunks x log layers).
std::vector<ChunkWork> chunk_work(const System& system, const TrainingSetup& setup);

struct EndOfStep {
  double exchange_s = 0;   // of gradients (and of parameters, with a distributed optimizer)
  double tied_s = 0;       // of the tied embedding's gradients between the first and last stage
  double optimizer_s = 0;  // with the host's work once a step
};
// Of a pipeline rank with so many parameters, some of them of experts. Nothing is hidden behind the
// backward pass here. From ZERO 2 on, the passes exchange gradients; with 3, they gather weights.
EndOfStep end_of_step(const System& system, const TrainingSetup& setup, double parameters,
                      double expert_parameters = 0, std::int64_t zero = 0);

}  // namespace egret::parallel
