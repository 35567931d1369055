// SPDX-License-Identifier: Apache-2.0
// A cluster plan for people: the answer first.
#pragma once

#include <string>

#include "parallel/cluster_plan/cluster_plan.h"
#include "parallel/system/system.h"

namespace egret::driver {

std::string cluster_plan_text(const parallel::ClusterPlan& plan, const parallel::System& system,
                              std::int64_t devices);

}  // namespace egret::driver
