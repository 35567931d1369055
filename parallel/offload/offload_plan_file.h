// SPDX-License-Identifier: Apache-2.0
// Plans of generation as JSON, and as a configuration of `egret offload`.
#pragma once

#include <string>

#include "base/formats/json.h"
#include "parallel/offload/expert_planner.h"
#include "parallel/offload/offload_plan.h"

namespace egret::parallel {

base::Json to_json(const OffloadPlan& plan, const std::string& machine);
base::Json to_json(const ExpertPlan& plan, const std::string& machine);
// The setup with the block of the plan, so that `egret offload --config FILE` finds it again.
std::string to_toml(const OffloadPlan& plan, const std::string& machine);

}  // namespace egret::parallel
