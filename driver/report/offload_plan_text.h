// SPDX-License-Identifier: Apache-2.0
// Plans of generation with offload for people: the answer, where everything lives, the best
// policies and the rules of other systems.
#pragma once

#include <string>

#include "parallel/offload/expert_planner.h"
#include "parallel/offload/offload_plan.h"
#include "parallel/system/host.h"

namespace egret::driver {

std::string offload_plan_text(const parallel::OffloadPlan& plan,
                              const parallel::HostedSystem& system);
std::string expert_plan_text(const parallel::ExpertPlan& plan,
                             const parallel::HostedSystem& system);

}  // namespace egret::driver
