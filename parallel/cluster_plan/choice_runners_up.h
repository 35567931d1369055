// SPDX-License-Identifier: Apache-2.0
// The reason for each choice of a plan: the best plan found with another value of it.
#pragma once

#include <vector>

#include "base/progress.h"
#include "parallel/cluster_plan/plan_trials.h"

namespace egret::parallel {

// By choice: degrees, chunks, schedule, micro-batch, sequence parallelism, ZeRO, offload, the
// recomputation of all layers as one, and equal stages. POOL: plans that were simulated before.
// Choices without another value that fits are left out.
std::vector<ChoiceRunnerUp> choice_runners_up(const FrameSpace& space, const PlanTrials& trials,
                                              const PlannedStep& best,
                                              const std::vector<PlannedStep>& pool,
                                              base::ProgressSink* progress);

}  // namespace egret::parallel
