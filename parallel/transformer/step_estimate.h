// SPDX-License-Identifier: Apache-2.0
// The time and memory of a training step in closed form, without a simulation.
//
// With passes f_s + b_s of stage s and m micro-batches, 1F1B takes
//
//   m max_s (f_s + b_s) + (sum_s (f_s + b_s) - max_s (f_s + b_s)) / virtual stages
//
// (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
// Megatron-LM", 2021, section 2.2, for unequal stages). GPipe takes as long. ZB-H1 and DualPipe
// take the longest path through their passes (schedule_time.h). The sends between stages, the
// exchange of gradients and the optimizer follow. Passes queue behind their host, so m of them take
// the time of their kernels' list and not m times that of one. Under ZeRO-2 and 3, passes include
// the exchanges of each micro-batch (divided_passes.h).
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "parallel/transformer/stage_work.h"

namespace egret::parallel {

struct StageBytes {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // of all micro-batches in flight
  double workspace = 0;
  double reserved = 0;  // for contexts and libraries
  double total() const {
    return weights + gradients + optimizer + activations + workspace + reserved;
  }
};

struct StepEstimate {
  double seconds = 0;
  double steady_s = 0;     // of all micro-batches on the slowest stage
  double bubble_s = 0;     // the stage waits for its first and behind its last micro-batch
  double transfers_s = 0;  // of activations and their gradients between stages
  double exchange_s = 0;   // of gradients, as far as nothing hides it
  double optimizer_s = 0;
  SecondsByKind kernel_s = {};  // by KernelKind, in the steady part
  double host_s = 0;            // of the host, in the steady part
  double model_flops = 0;
  double mfu = 0;                  // of the peak rate of the setup's precision
  std::vector<StageBytes> stages;  // by pipeline rank
  const StageBytes& fullest() const;
};

// ZERO: what data-parallel ranks divide, as StepOptions::zero. Errors: usage errors of
// TrainingSetup::check(), System::check() and of pipeline_schedule(), and ZeRO with frozen weights,
// or above 1 with ZB-H1 and DualPipe.
// O(chunks x log(layers x micro-batches)); for ZB-H1 and DualPipe, O(chunks x micro-batches); for
// ZeRO-2 and 3, O(layers).
base::Result<StepEstimate> estimate_step(const System& system, const TrainingSetup& setup,
                                         std::int64_t zero = 0);

}  // namespace egret::parallel
