// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/step_estimate.h"

#include <algorithm>

#include "parallel/transformer/training_memory.h"

namespace egret::parallel {
namespace {

struct Stage {
  KernelTime pass;        // forward and backward of one micro-batch, all chunks
  double backward_s = 0;  // of one micro-batch
  double parameters = 0;
  double kept_bytes = 0;  // of all chunks, one micro-batch
  double workspace_bytes = 0;
  double pass_s() const { return std::max(pass.device_s, pass.host_s); }
};

std::vector<Stage> stages_of(const std::vector<ChunkWork>& chunks, const TrainingSetup& setup) {
  std::vector<Stage> stages(static_cast<std::size_t>(setup.pipeline));
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Stage& stage = stages[i % stages.size()];
    stage.pass = stage.pass.then(chunks[i].forward).then(chunks[i].backward);
    stage.backward_s += std::max(chunks[i].backward.device_s, chunks[i].backward.host_s);
    stage.parameters += chunks[i].parameters;
    stage.kept_bytes += chunks[i].kept_bytes;
    stage.workspace_bytes = std::max(stage.workspace_bytes, chunks[i].workspace_bytes);
  }
  return stages;
}

// Micro-batches of all its chunks that a stage holds at most; a fraction with virtual stages, whose
// chunks are held one by one (Megatron-LM, core/pipeline_parallel/schedules.py).
double in_flight(const TrainingSetup& setup, std::int64_t stage) {
  const std::int64_t micro = setup.micro_batches();
  if (setup.schedule == PipelineKind::kGpipe) return static_cast<double>(micro);
  const std::int64_t v = setup.virtual_stages;
  if (v == 1) return static_cast<double>(std::min(micro, setup.pipeline - stage));
  const std::int64_t warm = 2 * (setup.pipeline - stage - 1) + (v - 1) * setup.pipeline + 1;
  return static_cast<double>(std::min(micro * v, warm)) / static_cast<double>(v);
}

StageBytes bytes_of(const System& system, const TrainingSetup& setup, const Stage& stage,
                    std::int64_t index) {
  const StateBytes state = state_bytes(setup, stage.parameters);
  return {state.weights,         state.gradients,
          state.optimizer,       stage.kept_bytes * in_flight(setup, index),
          stage.workspace_bytes, system.accelerator.reserved_bytes};
}

}  // namespace

const StageBytes& StepEstimate::fullest() const {
  return *std::ranges::max_element(stages, {}, &StageBytes::total);
}

base::Result<StepEstimate> estimate_step(const System& system, const TrainingSetup& setup) {
  EGRET_RETURN_IF_ERROR(setup.check());
  const std::vector<Stage> stages = stages_of(chunk_work(system, setup), setup);
  const auto micro = static_cast<double>(setup.micro_batches());
  const auto chunks = static_cast<double>(setup.virtual_stages);
  StepEstimate step;
  double all = 0;
  const Stage* slowest = &stages.front();
  for (const Stage& stage : stages) {
    all += stage.pass_s();
    if (stage.pass_s() > slowest->pass_s()) slowest = &stage;
  }
  const KernelTime steady = slowest->pass.times(setup.micro_batches());
  step.steady_s = std::max(steady.device_s, steady.tail_s);
  step.kernel_s = steady.by_kind_s;
  step.host_s = steady.host_s;
  step.bubble_s = (all - slowest->pass_s()) / chunks;

  if (setup.pipeline > 1) {
    const double send = boundary_s(system, setup);
    // Forward and backward; hidden in the steady part where sends run beside computation.
    step.transfers_s = 2 * send * (static_cast<double>(setup.pipeline) - 1);
    if (!setup.overlap_transfers) step.transfers_s += 2 * send * (micro - 1) * chunks;
  }
  for (const Stage& stage : stages) {
    const EndOfStep end = end_of_step(system, setup, stage.parameters);
    double exposed = end.exchange_s;
    if (setup.overlap_gradients) {
      // Only the last micro-batch's backward pass makes final gradients.
      const double hidden = std::min(end.exchange_s, stage.backward_s);
      exposed -= hidden - hidden * system.accelerator.overlap_slowdown;
    }
    step.exchange_s = std::max(step.exchange_s, exposed + end.tied_s);
    step.optimizer_s = std::max(step.optimizer_s, end.optimizer_s);
  }
  step.seconds =
      step.steady_s + step.bubble_s + step.transfers_s + step.exchange_s + step.optimizer_s;
  for (std::size_t i = 0; i < stages.size(); ++i)
    step.stages.push_back(bytes_of(system, setup, stages[i], static_cast<std::int64_t>(i)));
  step.model_flops = setup.model_flops();
  step.mfu = step.model_flops / step.seconds / static_cast<double>(setup.devices()) /
             system.accelerator.peak(setup.precision);
  return step;
}

}  // namespace egret::parallel
