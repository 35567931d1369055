// SPDX-License-Identifier: Apache-2.0
// Orders of tasks by the known heuristics: all values kept, Chen's segments, DTR.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "extract/recompute/schedule.h"

namespace egret::extract {

// Each task once, in an order of low peak memory: the given one, or the given one where tasks that
// free at least what they store move to the front and the others back, towards their first reader.
// O(tasks^2).
std::vector<int> frugal_task_order(const RecomputeProblem& problem);
// The problem with its tasks in another order of computation, and for each of its tasks the given
// one.
struct ReorderedProblem {
  RecomputeProblem problem;
  std::vector<int> origin;
};
ReorderedProblem reordered(const RecomputeProblem& problem, const std::vector<int>& order);

// Chen, Xu, Zhang, Guestrin, "Training deep nets with sublinear memory cost" (2016): the forward
// tasks are cut into k segments of about equal memory. What one segment reads of another is kept,
// everything else is computed again when the backward pass reads it; once with all values of the
// last segment kept, since the backward pass reads them first, and once without. The cheapest
// schedule that fits, of all k; nothing where none does. O(forward * steps).
std::optional<RecomputeSchedule> segment_schedule(const RecomputeProblem& problem,
                                                  std::int64_t limit,
                                                  const std::function<bool()>& should_stop = {});

// Kirisame et al., "Dynamic tensor rematerialization" (ICLR 2021): tasks run in order; where memory
// lacks, the value with the least h = cost / (size * staleness) is evicted, and it is computed
// again when it is read. Values that no later task reads are evicted first.
enum class DtrCost : std::uint8_t {
  kLocal,         // of the value itself
  kNeighborhood,  // and of the evicted values around it, which its recomputation may need: h_DTR
};
// Nothing where memory lacks for a task and the recomputations that it needs, or where more than
// 100 steps a task were taken, or where should_stop() says so.
std::optional<RecomputeSchedule> dtr_schedule(const RecomputeProblem& problem, std::int64_t limit,
                                              DtrCost cost,
                                              const std::function<bool()>& should_stop = {});

}  // namespace egret::extract
