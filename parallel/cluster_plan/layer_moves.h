// SPDX-License-Identifier: Apache-2.0
// Local search over the layers of a plan's stages, by simulation.
#pragma once

#include "parallel/cluster_plan/plan_trials.h"

namespace egret::parallel {

// Moves a layer from one stage to another, with the recomputation that then fits, while the
// simulated step gets shorter. Neighbouring stages, and any stage with the first and the last one.
PlannedStep with_moved_layers(const PlanTrials& trials, const PlannedStep& step);

}  // namespace egret::parallel
