// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/plan_frame.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/stop.h"
#include "parallel/transformer/number_list.h"

namespace egret::parallel {
namespace {

// What is fixed, or the candidates; a fixed value that is no candidate leaves nothing.
std::vector<std::int64_t> choices(const std::optional<std::int64_t>& fixed,
                                  std::vector<std::int64_t> candidates) {
  if (!fixed) return candidates;
  std::erase_if(candidates, [&](std::int64_t each) { return each != *fixed; });
  return candidates;
}

std::vector<std::int64_t> up_to(std::int64_t most) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 1; i <= most; ++i) result.push_back(i);
  return result;
}

class Visitor {
 public:
  Visitor(const FrameSpace& space, const std::function<bool(const PlanFrame&)>& wanted,
          const std::function<void(const PlanFrame&)>& visit)
      : space_(space),
        model_(space.model),
        devices_(space.devices),
        fixed_(space.fixed),
        wanted_(wanted),
        visit_(visit),
        batches_(divisors(space.model.global_batch, space.devices)) {}

  void run() {
    PlanFrame frame;
    for (const std::int64_t tensor :
         choices(fixed_.tensor, divisors(most_tensor_ranks(model_), devices_))) {
      if (!takes_tensor_ranks(model_, tensor)) continue;
      frame.tensor = tensor;
      for (const std::int64_t context :
           choices(fixed_.context, divisors(most_context_ranks(model_), devices_ / tensor))) {
        frame.context = context;
        std::int64_t stages = std::min(model_.layers, devices_ / (tensor * context));
        if (model_.wide_resnet > 0) stages = 1;  // others are those of stage_mix.h
        for (const std::int64_t pipeline : choices(fixed_.pipeline, up_to(stages))) {
          if (base::stop_requested()) return;
          frame.pipeline = pipeline;
          visit_experts(frame);
        }
      }
    }
  }

 private:
  void visit_experts(PlanFrame frame) {
    if (model_.experts == 0) return visit_replicas(frame);
    std::vector<std::int64_t> parts = {1};
    if (fixed_.expert_tensor) {
      parts = {*fixed_.expert_tensor > 0 ? *fixed_.expert_tensor : frame.tensor};
    } else if (frame.tensor > 1) {
      parts.push_back(frame.tensor);
    }
    const std::int64_t ranks = devices_ / frame.pipeline;  // of a stage
    for (const std::int64_t part : parts) {
      if (model_.expert_ffn_size() % part != 0) continue;
      frame.expert_tensor = part;
      for (const std::int64_t group :
           choices(fixed_.expert_parallel, divisors(model_.experts, ranks / part))) {
        frame.expert_parallel = group;
        visit_replicas(frame);
      }
    }
  }

  // Whether the ranks of a stage are whole groups of experts.
  bool suits_experts(const PlanFrame& frame, std::int64_t data) const {
    return frame.tensor * frame.context * data % (frame.expert_parallel * frame.expert_tensor) == 0;
  }

  void visit_replicas(PlanFrame frame) {
    const std::int64_t most = devices_ / (frame.tensor * frame.context * frame.pipeline);
    if (fixed_.data) {
      if (*fixed_.data > most || model_.global_batch % *fixed_.data != 0) return;
      frame.data = *fixed_.data;
    } else {
      auto next = std::upper_bound(batches_.begin(), batches_.end(), most);
      while (next != batches_.begin() && !suits_experts(frame, *(next - 1))) --next;
      if (next == batches_.begin()) return;
      frame.data = *(next - 1);
    }
    if (!suits_experts(frame, frame.data)) return;
    const std::int64_t of_replica = model_.global_batch / frame.data;
    for (const std::int64_t micro : choices(fixed_.micro_batch, divisors(of_replica, of_replica))) {
      frame.micro_batch = micro;
      for (const bool sequence : {false, true}) {
        if (fixed_.sequence_parallel && *fixed_.sequence_parallel != sequence && frame.tensor > 1)
          continue;
        if (sequence && (frame.tensor == 1 || model_.wide_resnet > 0 ||
                         model_.sequence % (frame.context * frame.tensor) != 0))
          continue;
        // Each token is sent to its experts once.
        if (!sequence && frame.tensor > 1 && model_.experts > 0) continue;
        frame.sequence_parallel = sequence;
        if (wanted_(frame)) visit_schedules(frame, of_replica / micro);
      }
    }
  }

  void visit_schedules(PlanFrame frame, std::int64_t micro_batches) {
    const auto allowed = [&](PipelineKind kind) {
      if (fixed_.schedule) return *fixed_.schedule == kind;
      return kind != PipelineKind::kGpipe && kind != PipelineKind::kDualPipe;
    };
    const std::int64_t pipeline = frame.pipeline;
    if (allowed(PipelineKind::k1F1B) || pipeline == 1) {
      std::int64_t before = 0;  // most layers of a chunk
      for (std::int64_t v = 1; pipeline * v <= model_.layers; ++v) {
        if (v > 1 && (pipeline == 1 || micro_batches % pipeline != 0)) break;
        const std::int64_t most = (model_.layers + pipeline * v - 1) / (pipeline * v);
        if (fixed_.virtual_stages ? *fixed_.virtual_stages != v : most == before) continue;
        if (v > 1 && !suits_chunks(pipeline * v)) continue;
        before = most;
        frame.virtual_stages = v;
        visit_states(frame);
      }
    }
    frame.virtual_stages = 1;
    if (pipeline == 1 || (fixed_.virtual_stages && *fixed_.virtual_stages > 1)) return;
    for (const PipelineKind kind : {PipelineKind::kGpipe, PipelineKind::kZbH1}) {
      if (!allowed(kind)) continue;
      frame.schedule = kind;
      visit_states(frame);
    }
    if (!allowed(PipelineKind::kDualPipe) || pipeline % 2 != 0 || micro_batches % 2 != 0 ||
        micro_batches < 2 * pipeline || !suits_chunks(pipeline))
      return;
    frame.schedule = PipelineKind::kDualPipe;
    visit_states(frame);
  }

  bool suits_chunks(std::int64_t chunks) const {
    const bool equal_layers = model_.experts == 0 || model_.expert_interval == 1;
    return equal_layers || model_.layers % chunks == 0;
  }

  void visit_states(PlanFrame frame) {
    std::int64_t most = frame.copies() > 1 && !model_.frozen ? 3 : 0;
    if (frame.two_directions() || model_.wide_resnet > 0) most = std::min<std::int64_t>(most, 1);
    for (std::int64_t zero = 0; zero <= most; ++zero) {
      if (fixed_.zero && *fixed_.zero != zero && most > 0) continue;
      frame.zero = zero;
      for (const Offload offload : kOffloads) {
        if (!space_.can_offload(offload, zero, frame.copies())) continue;
        const bool alone = offloads_activations(offload) || offloads_weights(offload);
        if (alone && frame.two_directions()) continue;
        frame.offload = offload;
        visit_(frame);
      }
    }
  }

  const FrameSpace& space_;
  const TrainingSetup& model_;
  const std::int64_t devices_;
  const FixedChoices& fixed_;
  const std::function<bool(const PlanFrame&)>& wanted_;
  const std::function<void(const PlanFrame&)>& visit_;
  const std::vector<std::int64_t> batches_;
};

}  // namespace

bool FrameSpace::can_offload(Offload where, std::int64_t zero, std::int64_t copies) const {
  if (where == Offload::kNone) return !fixed.offload || *fixed.offload == where;
  if (model.wide_resnet > 0 || (offloads_optimizer(where) && model.frozen)) return false;
  if (offloads_weights(where) && zero != 3 && copies > 1) return false;
  return fixed.offload ? *fixed.offload == where : disks || !uses_disks(where);
}

std::int64_t most_tensor_ranks(const TrainingSetup& model) {
  return model.wide_resnet > 0 ? model.channels : std::gcd(model.heads, model.ffn_size());
}

bool takes_tensor_ranks(const TrainingSetup& model, std::int64_t ranks) {
  const std::int64_t groups = model.kv_heads > 0 ? model.kv_heads : model.heads;
  return most_tensor_ranks(model) % ranks == 0 &&
         (model.wide_resnet > 0 || groups % ranks == 0 || ranks % groups == 0);
}

std::int64_t most_context_ranks(const TrainingSetup& model) {
  return model.wide_resnet > 0 ? 1 : model.sequence;
}

std::int64_t PlanFrame::devices() const {
  if (stages.empty()) return tensor * context * pipeline * data;
  std::int64_t all = 0;
  for (const StageDegrees& stage : stages) all += stage.devices();
  return all;
}

StageDegrees PlanFrame::stage(std::int64_t rank) const {
  if (!stages.empty()) return stages[static_cast<std::size_t>(rank)];
  return {tensor, context, data, rank * tensor * context * data};
}

PlanFrame PlanFrame::of_stage(std::int64_t rank) const {
  PlanFrame frame = *this;
  if (stages.empty()) return frame;
  const StageDegrees& own = stages[static_cast<std::size_t>(rank)];
  frame.stages.clear();
  frame.tensor = own.tensor;
  frame.context = own.context;
  frame.data = own.data;
  frame.micro_batch = micro_batch / own.data;
  return frame;
}

std::string degree_text(const PlanFrame& frame, std::int64_t PlanFrame::*same,
                        std::int64_t StageDegrees::*own) {
  if (frame.stages.empty()) return std::to_string(frame.*same);
  const std::int64_t first = frame.stages.front().*own;
  if (std::ranges::all_of(frame.stages, [&](const auto& stage) { return stage.*own == first; }))
    return std::to_string(first);
  std::string text;
  for (const StageDegrees& stage : frame.stages)
    text += (text.empty() ? "" : "+") + std::to_string(stage.*own);
  return text;
}

std::string to_string(const PlanFrame& frame) {
  std::string text = "tp " + degree_text(frame, &PlanFrame::tensor, &StageDegrees::tensor);
  if (frame.sequence_parallel) text += " with sequence parallelism";
  const std::string context = degree_text(frame, &PlanFrame::context, &StageDegrees::context);
  if (context != "1") text += ", cp " + context;
  text += ", pp " + std::to_string(frame.pipeline);
  if (frame.virtual_stages > 1) text += " x " + std::to_string(frame.virtual_stages);
  if (frame.schedule == PipelineKind::kZbH1) text += " (ZB-H1)";
  if (frame.schedule == PipelineKind::kGpipe) text += " (GPipe)";
  if (frame.schedule == PipelineKind::kDualPipe) text += " (DualPipe)";
  text += ", dp " + degree_text(frame, &PlanFrame::data, &StageDegrees::data);
  if (frame.expert_parallel > 1) text += ", ep " + std::to_string(frame.expert_parallel);
  if (frame.expert_tensor > 1)
    text += ", " + std::to_string(frame.expert_tensor) + " ranks an expert";
  if (frame.zero > 0) text += ", ZeRO-" + std::to_string(frame.zero);
  text += ", micro-batch " + std::to_string(frame.micro_batch);
  if (frame.offload == Offload::kActivations) text += ", activations on the host";
  if (frame.offload == Offload::kActivationsDisk) text += ", activations on disks";
  if (frame.offload == Offload::kOptimizer) text += ", optimizer on the host";
  if (frame.offload == Offload::kDisk) text += ", optimizer on disks";
  if (frame.offload == Offload::kWeights) text += ", weights and optimizer on the host";
  if (frame.offload == Offload::kWeightsDisk) text += ", weights and optimizer on disks";
  return text;
}

void apply(const PlanFrame& frame, TrainingSetup& setup, StepOptions& options) {
  setup.tensor = frame.tensor;
  setup.context = frame.context;
  setup.pipeline = frame.pipeline;
  setup.data = frame.data;
  setup.virtual_stages = frame.virtual_stages;
  setup.micro_batch = frame.micro_batch;
  setup.schedule = frame.schedule;
  setup.sequence_parallel = frame.sequence_parallel;
  setup.expert_parallel = frame.expert_parallel;
  setup.expert_tensor = setup.experts > 0 ? frame.expert_tensor : 0;
  setup.set_stages(frame.stages);
  setup.distributed_optimizer = false;  // --zero says more
  options.zero = frame.zero;
  options.offload = frame.offload;
}

FixedChoices fixed_choices(const TrainingSetup& setup, const StepOptions& options,
                           const std::function<bool(std::string_view)>& is_given) {
  FixedChoices fixed;
  const auto take = [&](std::string_view option, auto& place, const auto& value) {
    if (is_given(option)) place = value;
  };
  take("tp", fixed.tensor, setup.tensor);
  take("pp", fixed.pipeline, setup.pipeline);
  take("dp", fixed.data, setup.data);
  take("cp", fixed.context, setup.context);
  take("vpp", fixed.virtual_stages, setup.virtual_stages);
  take("micro-batch", fixed.micro_batch, setup.micro_batch);
  take("schedule", fixed.schedule, setup.schedule);
  take("recompute", fixed.recompute, setup.recompute);
  take("sequence-parallel", fixed.sequence_parallel, setup.sequence_parallel);
  take("zero", fixed.zero, options.zero);
  take("offload", fixed.offload, options.offload);
  take("ep", fixed.expert_parallel, setup.expert_parallel);
  take("expert-tp", fixed.expert_tensor, setup.expert_tensor);
  return fixed;
}

void FrameSpace::visit(const std::function<bool(const PlanFrame&)>& wanted,
                       const std::function<void(const PlanFrame&)>& visit) const {
  Visitor(*this, wanted, visit).run();
}

}  // namespace egret::parallel
