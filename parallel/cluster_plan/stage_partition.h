// SPDX-License-Identifier: Apache-2.0
// The layers of each stage of a frame, and a lower bound of the step.
//
// With passes f_r and b_r of rank r, p ranks and m micro-batches, the first micro-batch goes down
// and up the pipeline; from then on a rank has m - 1 backward passes left, and the forward passes
// that 1F1B has not started before its first backward pass. So 1F1B takes at least
//
//   sum_r (f_r + b_r) + max_r ((m - 1) b_r + max(0, m - p + r) f_r)
//
// which is exact for equal stages. Other schedules have other terms (stage_terms.cc). The end
// of the step follows the first rank. So a step takes at least sum_r h_r(n_r) + max_r g_r(n_r) for
// numbers n_r of layers that sum to the model's, and a dynamic program over stages finds the least.
// A later rank, too, has all of its passes and its update behind the sums of the ranks after it
// (PartitionTerms::end); the program leaves out divisions in which this takes longer than a limit.
// Alpa's planner has the terms (m - 1) max_r (f_r + b_r) instead, and no transfers (Zheng et al.,
// 2022, section 5).
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "parallel/cluster_plan/stage_terms.h"

namespace egret::parallel {

struct StagePartition {
  double bound_s = 0;               // no partition takes less
  std::vector<ChunkLayers> chunks;  // of one that takes this by the price
};

// Bytes by which each rank's memory is less than its device's: what a simulation of an earlier
// answer exceeded.
using MemoryMargins = std::vector<double>;

// None where no partition fits, or none takes less than LIMIT_S. O(stages x layers^2) a round; few
// rounds.
std::optional<StagePartition> partition_stages(
    const StagePrices& prices, const PlanFrame& frame, const MemoryMargins& margins = {},
    PartitionPrice price = PartitionPrice::kBound,
    double limit_s = std::numeric_limits<double>::infinity());

// Bounds of all partitions in O(1), which never exceed that of partition_stages(). For the group:
// of all its frames (plan_frame.h).
double group_bound_s(const StagePrices& prices, const PlanFrame& group);
double frame_bound_s(const StagePrices& prices, const PlanFrame& frame);
// Whether the average rank's weights and state exceed the largest memory, or the host's.
bool exceeds_memory(const StagePrices& prices, const PlanFrame& frame);

}  // namespace egret::parallel
