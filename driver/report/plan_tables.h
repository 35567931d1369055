// SPDX-License-Identifier: Apache-2.0
// Tables of a plan, for the console and for pages.
#pragma once

#include <string>

#include "base/formats/text_table.h"
#include "parallel/plan/planner.h"

namespace egret::driver {

// The time of the plan and of plans of known kinds.
base::TextTable plan_times_table(const parallel::ParallelPlan& plan);
// What other searches found; empty where there were none.
base::TextTable plan_searches_table(const parallel::ParallelPlan& plan);
// The best plan with another placement of a value; empty where it was not asked for.
base::TextTable runners_up_table(const parallel::ParallelPlan& plan);
// Named values; one row for all constants, after the others.
base::TextTable placements_table(const parallel::PlacedGraph& program);
base::TextTable communication_table(const parallel::ParallelPlan& plan);
// What the memory limit takes: "9 values are computed again, 12 us of the 130 us; for
// this placement at least 10 us".
std::string recomputation_text(const parallel::PlanRecomputation& recomputation);

}  // namespace egret::driver
