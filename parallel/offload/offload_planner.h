// SPDX-License-Identifier: Apache-2.0
// The planner of generation with offload.
//
// 1. The rules of other systems (offload_rules.h) are priced and simulated. The best one that fits
//    is the first incumbent.
// 2. Blocks (sequences of a batch, batches, attention on the cores or not) are ordered by a bound
// in
//    closed form. Those below the incumbent are left out. For the others, a linear program over the
//    fractions gives the least time (placement_program.h).
// 3. In the order of their bounds, answers are rounded to whole tensors and sequences
//    (whole_placement.h) and simulated (generation_simulation.h), until no bound is better than the
//    incumbent or the limit of simulations is reached.
// 4. Blocks of nearly as many sequences as the best one are tried in the same way.
// 5. Parts of the best policy's values are moved to other places while its simulation gets faster.
//
// All work is counted, so results do not depend on the machine's speed.
#pragma once

#include "base/options/option_table.h"
#include "base/progress.h"
#include "base/status.h"
#include "parallel/offload/offload_plan.h"

namespace egret::parallel {

struct OffloadOptions {
  std::int64_t policies = 5;  // of the ranking
  std::int64_t limit_simulations = 300;

  static const base::OptionTable<OffloadOptions>& table();
};

// Errors: usage, for a setup that makes no sense, a system without a host, or experts (for those,
// expert_planner.h); limit, where no policy fits into memory or a stop came before one was found.
base::Result<OffloadPlan> plan_offload(const HostedSystem& system, const GenerationSetup& setup,
                                       const OffloadOptions& options, bool explain = false,
                                       base::ProgressSink* progress = nullptr);

}  // namespace egret::parallel
