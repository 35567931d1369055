// SPDX-License-Identifier: Apache-2.0
// One training step of a transformer on a system, simulated.
//
// Ranks that differ only in their place in a tensor, context or data group do the same, so one rank
// of each pipeline stage is simulated. Exchanges of tensor parallelism are part of a pass. Sends
// between stages and exchanges of gradients are flows over the links of the rank's tiers.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "parallel/simulator/event_simulator.h"
#include "parallel/simulator/pipeline_schedule.h"
#include "parallel/system/system.h"
#include "parallel/transformer/kernel_list.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

enum class StepPart : unsigned char { kForward, kBackward, kTransfer, kGradients, kOptimizer };
inline constexpr std::array<std::string_view, 5> kStepPartNames = {
    "forward", "backward", "transfer", "gradients", "optimizer"};

enum class MemoryKind : unsigned char {
  kWeights,
  kGradients,
  kOptimizer,
  kActivations,
  kWorkspace  // of a recomputed layer, and of the logits
};
inline constexpr std::array<std::string_view, 5> kMemoryKindNames = {
    "weights", "gradients", "optimizer", "activations", "workspace"};

struct MemorySample {
  double time_s;
  double activation_bytes;  // with the workspace
};

struct StageReport {
  double parameters = 0;
  std::array<double, 5> part_s = {};      // by StepPart: the sum of its tasks' spans
  std::array<double, 3> kernel_s = {};    // by KernelKind: of the kernels in both passes
  double compute_s = 0;                   // of the compute stream: the sum of its spans
  std::array<double, 5> peak_bytes = {};  // by MemoryKind, at the time of the stage's peak
  double peak_total_bytes = 0;
  std::vector<MemorySample> memory;  // over time
};

struct StepTask {
  StepPart part;
  std::int64_t micro_batch;  // -1: of the step
  std::int64_t chunk;        // of the whole pipeline
};

struct StepReport {
  double seconds = 0;
  double model_flops = 0;
  double mfu = 0;  // of the peak rate of the setup's precision
  std::vector<StageReport> stages;
  std::vector<StepTask> tasks;  // beside timeline.spans
  std::vector<std::size_t> devices, streams;
  Timeline timeline;

  const StageReport& fullest() const;  // the stage with the most memory
};

// Errors: usage errors of TrainingSetup::check(); limit, beyond four million passes.
base::Result<StepReport> simulate_step(const System& system, const TrainingSetup& setup);

}  // namespace egret::parallel
