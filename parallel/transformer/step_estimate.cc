// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/step_estimate.h"

#include <algorithm>
#include <optional>

#include "parallel/pipeline/schedule_time.h"
#include "parallel/transformer/divided_passes.h"
#include "parallel/transformer/stage_transfer.h"
#include "parallel/transformer/training_memory.h"

namespace egret::parallel {
namespace {

// A pipeline rank with all its chunks.
struct Stage {
  KernelTime pass;        // forward and backward of one micro-batch through each chunk
  double backward_s = 0;  // of one micro-batch
  double parameters = 0;
  double expert_parameters = 0;
  double kept_bytes = 0;  // of all chunks, one micro-batch
  double workspace_bytes = 0;
  std::optional<double> divided_s;  // of all micro-batches under ZeRO-2 and 3
  double gathered_bytes = 0;
  double pass_s() const { return std::max(pass.device_s, pass.host_s); }

  void add(const ChunkWork& chunk) {
    pass = pass.then(chunk.forward).then(chunk.backward);
    backward_s += std::max(chunk.backward.device_s, chunk.backward.host_s);
    parameters += chunk.parameters;
    expert_parameters += chunk.expert_parameters;
    kept_bytes += chunk.kept_bytes;
    workspace_bytes = std::max(workspace_bytes, chunk.workspace_bytes);
  }
};

bool is_dual(const TrainingSetup& setup) { return setup.schedule == PipelineKind::kDualPipe; }
// Schedules whose gradients of weights fill the pipeline: priced pass by pass.
bool fills_bubbles(const TrainingSetup& setup) {
  return is_dual(setup) || setup.schedule == PipelineKind::kZbH1;
}

std::vector<Stage> stages_of(const std::vector<ChunkWork>& chunks, const TrainingSetup& setup) {
  std::vector<Stage> stages(static_cast<std::size_t>(setup.pipeline));
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    stages[i % stages.size()].add(chunks[i]);
    // Each rank of DualPipe also holds the stage of the other direction.
    if (is_dual(setup)) stages[stages.size() - 1 - i].add(chunks[i]);
  }
  return stages;
}

double seconds_of(const ChunkWork& chunk, PassKind kind) {
  const KernelTime& time = kind == PassKind::kForward   ? chunk.forward
                           : kind == PassKind::kInputs  ? chunk.inputs
                           : kind == PassKind::kWeights ? chunk.weights
                                                        : chunk.backward;
  return std::max(time.device_s, time.host_s);
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

StageBytes bytes_of(const System& system, const TrainingSetup& setup, std::int64_t zero,
                    const Stage& stage, double kept_bytes) {
  const StateBytes state = state_bytes(setup, stage.parameters, stage.expert_parameters);
  // Both copies of DualPipe's stages divide the optimizer's state too.
  const double directions = is_dual(setup) && setup.distributed_optimizer ? 2 : 1;
  const double divided = divided_parameters(setup, stage.parameters, stage.expert_parameters,
                                            setup.data * setup.context) /
                         stage.parameters;
  return {state.weights * (zero >= 3 ? divided : 1) + stage.gathered_bytes,
          state.gradients * (zero >= 2 ? divided : 1),
          state.optimizer / directions,
          kept_bytes,
          stage.workspace_bytes,
          system.accelerator.reserved_bytes};
}

// Passes with the exchanges of ZeRO-2 and 3.
void divide(const System& system, const TrainingSetup& setup, std::int64_t zero,
            std::vector<Stage>& stages) {
  const std::vector<StageCosts> costs = stage_costs(system, setup, /*by_layer=*/true);
  for (std::size_t rank = 0; rank < stages.size(); ++rank) {
    std::vector<StageCosts> own;
    for (std::size_t stage = rank; stage < costs.size(); stage += stages.size())
      own.push_back(costs[stage]);
    stages[rank].divided_s = divided_passes_s(system, setup, zero, own, setup.micro_batches());
    if (zero == 3) stages[rank].gathered_bytes = gathered_bytes(setup, own);
  }
}

base::Status check_zero(const TrainingSetup& setup, std::int64_t zero) {
  if (zero > 0 && setup.frozen) return base::usage_error("--zero cannot be combined with --frozen");
  if (zero > 1 && fills_bubbles(setup)) {
    return base::usage_error(
        "the closed form of --zero 2 and --zero 3 is for --schedule 1f1b and gpipe");
  }
  return base::ok();
}

}  // namespace

const StageBytes& StepEstimate::fullest() const {
  return *std::ranges::max_element(stages, {}, &StageBytes::total);
}

base::Result<StepEstimate> estimate_step(const System& system, const TrainingSetup& given,
                                         std::int64_t zero) {
  EGRET_RETURN_IF_ERROR(given.check());
  EGRET_RETURN_IF_ERROR(system.check(given.end_device(), given.precision));
  EGRET_RETURN_IF_ERROR(check_zero(given, zero));
  TrainingSetup setup = given;
  setup.distributed_optimizer = given.distributed_optimizer || zero > 0;
  if (setup.has_unlike_stages() || setup.wide_resnet > 0)
    return base::usage_error("the closed form is for transformers with stages of equal degrees");
  const std::vector<ChunkWork> work = chunk_work(system, setup);
  std::vector<Stage> stages = stages_of(work, setup);
  if (zero > 1 && has_copies(setup)) divide(system, setup, zero, stages);
  const auto micro = static_cast<double>(setup.micro_batches());
  const auto chunks = static_cast<double>(setup.virtual_stages);
  StepEstimate step;
  double all = 0;
  const Stage* slowest = &stages.front();
  const auto pass_s = [&](const Stage& stage) {
    return stage.divided_s ? *stage.divided_s / micro : stage.pass_s();
  };
  // Some neighbours are in one node and others are not. Sends that do not run beside computation
  // hold up both of their ranks, forward and backward.
  std::vector<double> sends(stages.size() + 1, 0);  // to each rank from the one before
  for (std::size_t rank = 1; rank < stages.size(); ++rank) {
    const auto to = static_cast<std::int64_t>(rank);
    sends[rank] = stage_transfer(system, setup, to - 1, to, 1).seconds();
    step.transfers_s += 2 * sends[rank];
  }
  if (setup.virtual_stages > 1 && setup.pipeline > 1) {
    // From the last rank to the first, for all chunks but one.
    sends.front() = sends.back() =
        stage_transfer(system, setup, setup.pipeline - 1, 0, 1).seconds() * (chunks - 1) / chunks;
  }
  const auto sends_s = [&](const Stage& stage) {
    const auto rank = static_cast<std::size_t>(&stage - stages.data());
    return setup.overlap_transfers ? 0 : 2 * chunks * std::max(sends[rank], sends[rank + 1]);
  };
  for (const Stage& stage : stages) {
    all += pass_s(stage);
    if (pass_s(stage) + sends_s(stage) > pass_s(*slowest) + sends_s(*slowest)) slowest = &stage;
  }
  // Half of DualPipe's micro-batches go through each of a rank's chunks.
  const KernelTime steady = slowest->pass.times(setup.micro_batches() / (is_dual(setup) ? 2 : 1));
  step.steady_s = slowest->divided_s.value_or(std::max(steady.device_s, steady.tail_s));
  step.kernel_s = steady.by_kind_s;
  step.host_s = steady.host_s;
  step.bubble_s = (all - pass_s(*slowest)) / chunks;
  std::optional<PipelineSchedule> schedule;
  if (fills_bubbles(setup)) {
    EGRET_ASSIGN_OR_RETURN(
        schedule, pipeline_schedule(setup.schedule, setup.pipeline, 1, setup.micro_batches()));
    const std::vector<double> ends = schedule_ends_s(*schedule, [&](const PipelinePass& pass) {
      return seconds_of(work[static_cast<std::size_t>(pass.stage)], pass.kind);
    });
    step.bubble_s = std::max(0.0, *std::ranges::max_element(ends) - step.steady_s);
  }

  step.transfers_s += sends_s(*slowest) * (micro - 1);
  for (const Stage& stage : stages) {
    const EndOfStep end =
        end_of_step(system, setup, stage.parameters, stage.expert_parameters, zero);
    double exposed = end.exchange_s;
    if (setup.overlap_gradients && zero < 2) {
      // Only the last micro-batch's backward pass makes final gradients.
      const double hidden = std::min(end.exchange_s, stage.backward_s);
      exposed -= hidden - hidden * system.accelerator.overlap_slowdown;
    }
    step.exchange_s = std::max(step.exchange_s, exposed + end.tied_s);
    step.optimizer_s = std::max(step.optimizer_s, end.optimizer_s);
  }
  step.seconds =
      step.steady_s + step.bubble_s + step.transfers_s + step.exchange_s + step.optimizer_s;
  std::vector<double> chunk_bytes;
  for (const ChunkWork& chunk : work) chunk_bytes.push_back(chunk.kept_bytes);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto rank = static_cast<std::int64_t>(i);
    const double kept =
        schedule ? schedule_kept_bytes(*schedule, rank, chunk_bytes,
                                       setup.frozen ? PassKind::kInputs : PassKind::kWeights)
                 : stages[i].kept_bytes * in_flight(setup, rank);
    step.stages.push_back(bytes_of(system, setup, zero, stages[i], kept));
  }
  step.model_flops = setup.model_flops();
  step.mfu = step.model_flops / step.seconds / static_cast<double>(setup.devices()) /
             system.accelerator.peak(setup.precision);
  return step;
}

}  // namespace egret::parallel
