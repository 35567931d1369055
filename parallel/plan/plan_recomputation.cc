// SPDX-License-Identifier: Apache-2.0
#include "parallel/plan/plan_recomputation.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/stop.h"

namespace egret::parallel {

namespace {

constexpr double kTolerance = 1e-9;  // of the time

}  // namespace

bool is_better(const ParallelPlan& a, const ParallelPlan& b) {
  const bool fits = a.memory_bytes <= a.limit_bytes;
  if (fits != (b.memory_bytes <= b.limit_bytes)) return fits;
  return fits ? a.time_s < b.time_s : a.memory_bytes < b.memory_bytes;
}

base::Status recompute_where_cheaper(std::vector<PlanCandidate> candidates, const Cluster& machine,
                                     const RecomputeChoice& choice, ParallelPlan& plan) {
  std::ranges::stable_sort(candidates, {}, &PlanCandidate::time_s);
  std::set<std::pair<double, double>> tried;  // baselines are found in each search
  for (const PlanCandidate& candidate : candidates) {
    const bool fits = plan.memory_bytes <= plan.limit_bytes;
    if (base::stop_requested() || (fits && candidate.time_s >= plan.time_s * (1 - kTolerance)))
      break;
    if (!tried.emplace(candidate.time_s, peak_bytes(candidate.program)).second) continue;
    EGRET_ASSIGN_OR_RETURN(
        std::optional<RecomputedProgram> found,
        recomputed_program(candidate.program, machine, plan.limit_bytes, choice));
    if (!found) continue;
    ParallelPlan other = plan;
    other.program = std::move(found->program);
    other.recomputation = found->recomputation;
    other.recomputation->placed_time_s = candidate.time_s;
    other.time_s = candidate.time_s + found->recomputation.time_s;
    other.memory_bytes = found->memory_bytes;
    other.runners_up.clear();  // they are of other placements
    if (is_better(other, plan)) plan = std::move(other);
  }
  return base::ok();
}

}  // namespace egret::parallel
