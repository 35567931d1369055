// SPDX-License-Identifier: Apache-2.0
// A parallel plan as a page: its time beside those of known plans, the placements by layer, the
// collectives, and the memory of a rank over the program.
#pragma once

#include <string>

#include "driver/report/page.h"
#include "parallel/machine/cluster.h"
#include "parallel/plan/plan_file.h"
#include "parallel/plan/planner.h"

namespace egret::driver {

ReportPage plan_page(const parallel::ParallelPlan& plan, const parallel::PlanOrigin& origin,
                     const parallel::Cluster& machine, const std::string& version);

}  // namespace egret::driver
