// SPDX-License-Identifier: Apache-2.0
// The order in which each rank of a pipeline computes the passes of its stages.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace egret::parallel {

enum class PipelineKind : unsigned char { k1F1B, kGpipe, kZbH1, kDualPipe };
// By kind, as --schedule takes them.
inline constexpr std::array<std::string_view, 4> kScheduleNames = {"1f1b", "gpipe", "zb-h1",
                                                                   "dualpipe"};
inline std::string_view name_of(PipelineKind kind) {
  return kScheduleNames[static_cast<std::size_t>(kind)];
}

enum class PassKind : unsigned char {
  kForward,
  kBackward,  // gradients of inputs and weights
  kInputs,    // of inputs only
  kWeights    // of weights, after kInputs
};

struct PipelinePass {
  PassKind kind = PassKind::kForward;
  std::int64_t micro_batch = 0;
  std::int64_t stage = 0;  // of the whole pipeline

  friend bool operator==(const PipelinePass&, const PipelinePass&) = default;
};

struct PipelineSchedule {
  PipelineKind kind = PipelineKind::k1F1B;
  std::int64_t ranks = 1;
  std::int64_t stages = 1;  // ranks x chunks; stage s lies on rank s % ranks
  std::int64_t micro_batches = 1;
  std::vector<std::vector<PipelinePass>> passes;  // by rank

  // DualPipe runs the second half of the micro-batches from the last rank to the first.
  bool reversed(std::int64_t micro_batch) const {
    return kind == PipelineKind::kDualPipe && micro_batch >= micro_batches / 2;
  }
  std::int64_t rank_of(std::int64_t stage, std::int64_t micro_batch) const {
    return reversed(micro_batch) ? ranks - 1 - stage : stage % ranks;
  }
};

// With forward and backward passes of F and B seconds on each of p ranks, m micro-batches, free
// communication, and B = I + W for inputs and weights, the idle time of a rank is
//
//   GPipe        (p-1) (F+B)             all forward passes first (Huang et al., 2019)
//   1F1B         (p-1) (F+B)             as many forward passes ahead as ranks follow, then one of
//                                        each in turn (Narayanan et al., PipeDream, 2019)
//   interleaved  (p-1) (F+B) / chunks    several chunks a rank; micro-batches go in groups of p
//                                        (Narayanan et al., 2021); m is a multiple of p
//   ZB-H1        (p-1) (F + max(0,I-W))  rank r delays weight gradients by r micro-batches (Qi et
//                                        al., "Zero Bubble Pipeline Parallelism", 2023)
//   DualPipe     at most (p/2-1) (F+2B-3W), and (p/2-1) F where F = I = W: two directions at once;
//                                        each rank holds two stages (DeepSeek-V3, 2024); p and m
//                                        are even, m >= 2p
//
// Errors: usage, where m or p does not suit the schedule; limit, beyond kMostPasses.
inline constexpr std::int64_t kMostPasses = 10'000'000;
base::Result<PipelineSchedule> pipeline_schedule(PipelineKind kind, std::int64_t ranks,
                                                 std::int64_t chunks, std::int64_t micro_batches);

}  // namespace egret::parallel
