// SPDX-License-Identifier: Apache-2.0
// A frame: the degrees and choices of a plan's stages. Within a frame, the layers of each stage and
// their recomputation remain open (stage_partition.h).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/simulator/step_options.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

struct PlanFrame {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t virtual_stages = 1;
  std::int64_t micro_batch = 1;
  PipelineKind schedule = PipelineKind::k1F1B;
  bool sequence_parallel = false;
  std::int64_t zero = 0;
  Offload offload = Offload::kNone;
  std::int64_t expert_parallel = 1;  // 1 without experts
  std::int64_t expert_tensor = 1;
  // By pipeline rank, where they have degrees of their own. Then tensor, context and data are 1,
  // and micro_batch counts the sequences of all replicas of a rank, as in TrainingSetup.
  std::vector<StageDegrees> stages = {};

  std::int64_t devices() const;
  // The degrees and devices of a rank.
  StageDegrees stage(std::int64_t rank) const;
  // The frame in which all ranks are as this one.
  PlanFrame of_stage(std::int64_t rank) const;
  bool two_directions() const { return schedule == PipelineKind::kDualPipe; }
  // Of each weight that is not of an expert. Both directions of DualPipe have one.
  std::int64_t copies() const { return data * context * (two_directions() ? 2 : 1); }
  // Chunks of layers that a pipeline rank computes, and which of all chunks they are.
  std::int64_t chunks_of_rank() const { return two_directions() ? 2 : virtual_stages; }
  std::int64_t chunk_of(std::int64_t rank, std::int64_t index) const {
    if (two_directions()) return index == 0 ? rank : pipeline - 1 - rank;
    return index * pipeline + rank;
  }
  friend auto operator<=>(const PlanFrame&, const PlanFrame&) = default;
};

// A degree, or those of all ranks where they differ, as 4+4+8.
std::string degree_text(const PlanFrame& frame, std::int64_t PlanFrame::*same,
                        std::int64_t StageDegrees::*own);
// "tp 8, pp 4 x 2, dp 16, ...", without choices that are off.
std::string to_string(const PlanFrame& frame);

// The frame's fields in SETUP and OPTIONS.
void apply(const PlanFrame& frame, TrainingSetup& setup, StepOptions& options);

// Numbers whose divisors are degrees of tensor and context parallelism.
std::int64_t most_tensor_ranks(const TrainingSetup& model);
std::int64_t most_context_ranks(const TrainingSetup& model);
// Whether so many tensor ranks divide the model, its heads of keys and values too.
bool takes_tensor_ranks(const TrainingSetup& model, std::int64_t ranks);

// What the user has fixed; the rest is searched.
struct FixedChoices {
  std::optional<std::int64_t> tensor, context, pipeline, data, virtual_stages, micro_batch, zero,
      expert_parallel, expert_tensor;
  std::optional<PipelineKind> schedule;
  std::optional<bool> sequence_parallel;
  std::optional<Recompute> recompute;  // of all layers
  std::optional<Offload> offload;
};

// Of these options, those that are given.
FixedChoices fixed_choices(const TrainingSetup& setup, const StepOptions& options,
                           const std::function<bool(std::string_view option)>& is_given);

// The space of frames for so many devices.
//
//   tensor    divides the heads and the feed-forward layer, or the channels of a Wide-ResNet, which
//             has one stage here
//   context   divides the sequence (with the tensor degree, under sequence parallelism)
//   pipeline  any number of stages up to the layers
//   data      the largest that divides the batch, finds enough devices, and suits the experts
//   experts   the ranks of a stage divide them; each is whole, or divided as --tp is
//   chunks    numbers of virtual stages with different most layers of a chunk
//   schedule  1F1B, interleaved 1F1B, ZB-H1 (GPipe takes as long as 1F1B and more memory); DualPipe
//             where it is fixed, because its memory is only estimated
//
// Where only some layers have experts, chunks of one rank (interleaved, DualPipe) have equal
// numbers of layers. DualPipe is planned up to ZeRO-1, and without offloaded activations. Devices
// that no frame can use stay idle: 64 devices are 3 stages of 21 replicas, for example.
struct FrameSpace {
  const TrainingSetup& model;
  std::int64_t devices;
  const FixedChoices& fixed;
  bool disks = false;  // what lies on disks is worth a look: the memory of the host is limited

  // Whether a frame of this ZeRO and so many ranks with the same weights may keep what WHERE says
  // on the host. Weights are there once.
  bool can_offload(Offload where, std::int64_t zero, std::int64_t copies) const;

  // Frames that differ in the schedule, ZeRO and offload only come as one group, whose schedule is
  // 1F1B without either. VISIT says whether its frames are wanted, and gets each then.
  void visit(const std::function<bool(const PlanFrame& group)>& wanted,
             const std::function<void(const PlanFrame&)>& visit) const;
};

}  // namespace egret::parallel
