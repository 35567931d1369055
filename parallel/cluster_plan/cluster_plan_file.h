// SPDX-License-Identifier: Apache-2.0
// A cluster plan as JSON, and as a configuration of `egret simulate`.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "parallel/cluster_plan/cluster_plan.h"

namespace egret::parallel {

base::Json to_json(const ClusterPlan& plan, const std::string& machine);
// All options of the step, so that `egret simulate --config FILE` repeats its simulation.
std::string to_toml(const ClusterPlan& plan, const std::string& machine);
// "10,12,12,11", or "12" where all chunks have as many.
std::string layers_text(const PlannedStep& step);
// "none", "full", "7 full, 2 selective of 48".
std::string recomputation_text(const PlannedStep& step);

}  // namespace egret::parallel
