// SPDX-License-Identifier: Apache-2.0
// A cluster plan for people: the answer first.
#pragma once

#include <string>

#include "parallel/cluster_plan/cluster_plan.h"

namespace egret::driver {

std::string cluster_plan_text(const parallel::ClusterPlan& plan, const std::string& machine,
                              std::int64_t devices);

}  // namespace egret::driver
