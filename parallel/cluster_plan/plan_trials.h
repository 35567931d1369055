// SPDX-License-Identifier: Apache-2.0
// From a frame to a simulated plan whose memory fits.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "base/timer.h"
#include "parallel/cluster_plan/cluster_plan.h"
#include "parallel/cluster_plan/stage_partition.h"

namespace egret::parallel {

class PlanTrials {
 public:
  PlanTrials(const StagePrices& prices, std::int64_t devices, base::Deadline deadline = {})
      : prices_(prices), devices_(devices), deadline_(deadline) {}

  const StagePrices& prices() const { return prices_; }

  // Whether base's request to stop has come, or the time is over.
  bool stopped() const;
  const base::Deadline& deadline() const { return deadline_; }

  // Of the frame's simulated step, about. Steps of too many are not simulated.
  double tasks(const PlanFrame& frame) const;
  bool can_simulate(const PlanFrame& frame) const;
  // None where the layers do not suit the frame, or on base::stop_requested(). Thread-safe.
  std::optional<PlannedStep> simulate(const PlanFrame& frame,
                                      const std::vector<ChunkLayers>& chunks) const;
  // A partition, simulated. Where memory is exceeded, the partition is made again with less memory,
  // a few times. A step that does not fit at the end is none. Thread-safe.
  std::optional<PlannedStep> fit(const PlanFrame& frame,
                                 PartitionPrice price = PartitionPrice::kBound) const;
  // All layers recomputed (or as the user fixed it), whether it fits or not.
  std::optional<PlannedStep> smallest(const PlanFrame& frame) const;

  std::int64_t simulations() const { return simulations_; }
  std::int64_t partitions() const { return partitions_; }
  std::optional<StagePartition> partition(
      const PlanFrame& frame, const MemoryMargins& margins = {},
      PartitionPrice price = PartitionPrice::kBound,
      double limit_s = std::numeric_limits<double>::infinity()) const;

 private:
  const StagePrices& prices_;
  const std::int64_t devices_;
  const base::Deadline deadline_;
  mutable std::atomic<std::int64_t> simulations_ = 0;
  mutable std::atomic<std::int64_t> partitions_ = 0;
};

// Whether A is the better plan: fitting before not fitting, then by time (or by excess), then by
// frame.
bool better(const PlannedStep& a, const PlannedStep& b);

}  // namespace egret::parallel
