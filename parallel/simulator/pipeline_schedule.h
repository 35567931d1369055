// SPDX-License-Identifier: Apache-2.0
// The order in which each rank of a pipeline computes the passes of its chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

struct PipelinePass {
  bool forward = true;
  std::int64_t micro_batch = 0;
  std::int64_t chunk = 0;  // of the rank's own, from 0

  friend bool operator==(const PipelinePass&, const PipelinePass&) = default;
};

// By rank. GPipe: all forward passes, then all backward passes (Huang et al., 2019). 1F1B: a rank
// runs as many forward passes ahead as ranks follow it, then alternates (Narayanan et al.,
// PipeDream and "Efficient Large-Scale Language Model Training", 2021). With several chunks a rank,
// the interleaved form of 1F1B: micro-batches go in groups of as many as ranks, a group passes one
// chunk before the next; MICRO_BATCHES is then a multiple of RANKS.
std::vector<std::vector<PipelinePass>> pipeline_schedule(PipelineKind kind, std::int64_t ranks,
                                                         std::int64_t chunks,
                                                         std::int64_t micro_batches);

}  // namespace egret::parallel
