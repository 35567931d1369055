// SPDX-License-Identifier: Apache-2.0
// Plans by the rules of other planners and of experts, under the same prices and the same
// simulator. Each takes the best frame of its rule by the rule's own price.
//
//   data         data parallelism only
//   zero-1       the same with the optimizer's state divided (Rajbhandari et al., 2020)
//   zero-3       the same with weights and gradients divided too, as FSDP
//   megatron     tensor parallelism up to a node, pipelines until the model fits, data parallelism
//                for the rest, all activations recomputed (Narayanan et al., 2021, takeaways 1 to
//                3)
//   megatron-sp  the same with sequence parallelism, the least recomputation that fits, and a
//                distributed optimizer (Korthikanti et al., 2022)
//   alpa         tensor, data and pipeline degrees with uneven stages; transfers between stages are
//                free in its price, no sequence parallelism, all activations recomputed (Zheng et
//                al., 2022)
//   galvatron    data, ZeRO-3, tensor and pipeline degrees, recomputation by layer (Miao et al.,
//                2022)
//
//   equal        the best pipeline of equal degrees whose stages have as many layers, where devices
//                differ
//
// Where layers have experts, data, zero-1, zero-3 and galvatron keep all of them on each device,
// the others divide them, tensor parallelism is with sequence parallelism, and there are two more.
//
//   gshard         data parallelism, the experts divided among as many devices as possible
//   (Lepikhin
//                  et al., 2020)
//   deepspeed-moe  data, tensor and expert degrees, gradients and state divided (Rajbhandari et
//   al.,
//                  2022)
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "parallel/cluster_plan/plan_trials.h"

namespace egret::parallel {

// The names of all rules.
std::span<const std::string_view> baseline_rules();

// Deterministic. Baselines that the user's fixed choices exclude do not exist. Of the rule ONLY, if
// that is given.
std::vector<PlannedBaseline> plan_baselines(const FrameSpace& space, const PlanTrials& trials,
                                            base::ProgressSink* progress,
                                            std::string_view only = {});

}  // namespace egret::parallel
