// SPDX-License-Identifier: Apache-2.0
// The planner of training steps on clusters.
//
// 1. Baselines are planned and simulated; the best one that fits is the first incumbent.
// 2. Frames (plan_frame.h) whose bound in closed form exceeds the incumbent are left out. For the
//    others, in the order of this bound, a dynamic program finds the layers of each stage and a
//    better bound (stage_partition.h).
// 3. In rounds, the plans of the least corrected price are simulated. The correction is the mean
//    ratio of simulated time and bound of plans of the same kind. The ranking holds when no price
//    of an unsimulated plan is below the incumbent.
// 4. The rest is simulated in the order of bounds until no bound is below the incumbent, or a limit
//    is hit. Layers of the best plans are moved between stages while this is faster.
//
// 5. Groups of plans whose stages have degrees of their own (stage_mix.h) follow in the same way:
// those
//    whose bound is below the incumbent are divided, and the best few of each are simulated.
//
// Everything is counted in simulations, so results do not depend on the machine's speed unless the
// limit of time is hit.
#pragma once

#include <string>

#include "base/options/option_table.h"
#include "base/progress.h"
#include "base/status.h"
#include "parallel/cluster_plan/cluster_plan.h"
#include "parallel/system/system.h"

namespace egret::parallel {

struct ClusterPlanOptions {
  std::int64_t devices = 0;
  std::int64_t plans = 5;  // of the ranking
  std::int64_t limit_simulations = 300;
  double limit_plan_time = 120;  // seconds
  bool without_baselines = false;
  std::string rule = "any";    // the plan is this rule's; "any": the best one
  bool equal_degrees = false;  // of all stages

  static const base::OptionTable<ClusterPlanOptions>& table();
};

struct ClusterTask {
  const System& system;
  const TrainingSetup& model;  // its degrees are ignored
  const StepOptions& step;     // what all plans share; its zero and offload are ignored
  FixedChoices fixed{};
};

// Errors: usage, for a model or options that make no sense, or where no frame exists. If base's
// request to stop comes, or a limit, the best plan so far is returned; limit, where there is none.
base::Result<ClusterPlan> plan_cluster(const ClusterTask& task, const ClusterPlanOptions& options,
                                       bool explain = false,
                                       base::ProgressSink* progress = nullptr);

}  // namespace egret::parallel
