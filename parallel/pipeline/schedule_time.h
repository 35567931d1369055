// SPDX-License-Identifier: Apache-2.0
// The time and the activations of a pipeline schedule where messages are free: the longest path
// through its passes. It serves schedules without a closed form, and unequal stages.
#pragma once

#include <functional>
#include <vector>

#include "parallel/pipeline/pipeline_schedule.h"

namespace egret::parallel {

// Until the last pass of each rank has ended, where a pass takes PASS_S(pass). A pass begins after
// the one before on its rank, and after those of the neighbouring stages whose results it reads.
// O(passes).
std::vector<double> schedule_ends_s(const PipelineSchedule& schedule,
                                    const std::function<double(const PipelinePass&)>& pass_s);

// The most that a rank keeps at a time, where a stage keeps STAGE_BYTES[stage] of each micro-batch
// until its backward pass has ended. FREES is the half that ends it where the pass is in two:
// kWeights, or kInputs if weights are frozen. O(passes of the rank).
double schedule_kept_bytes(const PipelineSchedule& schedule, std::int64_t rank,
                           const std::vector<double>& stage_bytes, PassKind frees);

}  // namespace egret::parallel
