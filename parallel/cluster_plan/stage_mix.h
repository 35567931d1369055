// SPDX-License-Identifier: Apache-2.0
// Plans whose stages have submeshes and degrees of their own, as Alpa's (Zheng et al., 2022,
// section 5.2), under 1F1B with one chunk a rank.
//
// A submesh is a part of a node whose size divides the node's, or whole nodes, of one kind of
// device. Its devices divide the stage's work by tensor (at most a node), context and data degrees.
// Micro-batch, ZeRO, offload and sequence parallelism are those of all stages: a *group*.
//
// A rank's terms of the bound (stage_terms.h) depend on its submesh, degrees, layers, and the
// number of stages after it. What it sends takes at least as long as to a rank with the same
// submesh, in the same node or in another one. Parts of a node that lie in it one after the other
// have at most the node's devices together. What a receiver gathers is in the sum of its own terms.
// So for a bottleneck g, a dynamic program over stages, layers and devices, from the last
// stage to the first, finds the least sum H(g), and no plan of the group takes less than
//
//   min_g g + H(g)
//
// H falls and is constant between bottlenecks. An interval (a, b] of bottlenecks has the bound
// a + H(b). All stages end together, so a stage whose gradients take long after its last pass
// leaves out plans that take as long as the best one (PartitionTerms::end). Intervals are divided
// until the least bound is near the best plan found.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "parallel/cluster_plan/mix_solver.h"

namespace egret::parallel {

struct MixedGroup {
  double bound_s = 0;  // of all plans of the group, in closed form
  PlanFrame frame;     // without stages; micro_batch is that of all replicas of a rank
};

struct MixedPlans {
  double bound_s = 0;  // of all plans of the group
  std::vector<PlanFrame> frames =
      {};  // all where there are few; otherwise those of the least terms
};

class StageMixes {
 public:
  static constexpr std::int64_t kMostStages = 16;
  static constexpr std::int64_t kMostUnits = 64;  // into which the devices are divided

  // DISKS: what lies on disks is worth a look.
  StageMixes(const StagePrices& prices, std::int64_t devices, const FixedChoices& fixed,
             bool disks);

  // By their bounds; none for mixtures of experts, other schedules, or one stage.
  std::vector<MixedGroup> groups() const;
  // Raises bounds below LIMIT_S to those of plans with unlimited memory that neither exchange
  // gradients nor update weights, which ZeRO and offload do not change: one program for all groups
  // of a micro-batch. To infinity, where none takes less than LIMIT_S. Sorts again.
  void raise_bounds(std::vector<MixedGroup>& groups, double limit_s) const;
  // None where no plan fits, or none takes less than LIMIT_S. Thread-safe. O(stages x layers^2 x
  // units x submeshes) a round; few rounds.
  std::optional<MixedPlans> solve(const PlanFrame& group, double limit_s) const;

 private:
  // Neighbouring devices of one kind.
  struct Pool {
    std::int64_t first, devices, units;
  };
  struct Submesh {
    std::size_t pool;
    std::int64_t units;
    std::vector<StageDegrees> degrees;  // at the pool's first device
  };
  std::optional<MixSolver::Answer> answer_of(const PlanFrame& group,
                                             const std::vector<Submesh>& meshes, double limit_s,
                                             bool only_passes) const;
  std::vector<Submesh> submeshes(const PlanFrame& group) const;
  std::vector<StageDegrees> degrees_of(const PlanFrame& group, const Pool& pool,
                                       std::int64_t devices) const;
  double closed_bound_s(const PlanFrame& group) const;
  // All ways to choose stages, unless there are more than kMostFrames.
  std::optional<std::vector<PlanFrame>> all_frames(const PlanFrame& group,
                                                   const std::vector<Submesh>& meshes) const;
  // With these stages; none where there is no room, or where a frame of equal stages is the same.
  std::optional<PlanFrame> frame_of(const PlanFrame& group,
                                    const std::vector<StageDegrees>& stages) const;
  // First devices, so that no submesh straddles nodes. False where there is no room.
  bool place(std::vector<StageDegrees>& stages) const;
  // Sets the first devices of stages of a pool, from its first on; false where it has too few.
  bool place_in_order(const Pool& pool, std::span<StageDegrees* const> stages) const;

  const StagePrices& prices_;
  const FixedChoices& fixed_;
  const FrameSpace space_;
  std::int64_t node_ = 1;  // devices of the innermost tier
  std::int64_t unit_ = 1;  // devices
  std::vector<Pool> pools_;
};

}  // namespace egret::parallel
