// SPDX-License-Identifier: Apache-2.0
// Plans of the stages that ranks share, made once for all ranks: a search with a limit of time may
// find another plan on each of them.
#pragma once

#include "base/status.h"
#include "parallel/machine/cluster.h"
#include "parallel/pipeline/pipeline_layout.h"
#include "parallel/pipeline/stage_division.h"
#include "runtime/ranks/ranks.h"

namespace egret::runtime {

// Rank 0 plans stage after stage, each on a mesh of its ranks, and sends the plans to the others,
// which check them and divide their stages too (parallel::divide_stages()). All ranks call it. Does
// nothing where no ranks share a stage. Errors: those of parallel::plan_stage(), with the stage, at
// rank 0; rank_failed, also where rank 0 plans a stage for longer than other ranks wait.
base::Status plan_and_divide_stages(parallel::PipelineLayout& layout,
                                    const parallel::Cluster& machine,
                                    const parallel::StagePlanOptions& options, const Ranks& ranks);

}  // namespace egret::runtime
