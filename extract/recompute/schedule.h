// SPDX-License-Identifier: Apache-2.0
// Schedules of tasks in which a value may be computed again, so that it need not stay in memory
// between its uses: each value is kept, or freed and recomputed, and both are equal.
//
// Costs are of any unit (seconds in Egret), memory is in bytes. A schedule says what is computed
// and what is freed; check_schedule() recomputes its cost and peak without the methods that find
// schedules.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace egret::extract {

struct RecomputeTask {
  double cost = 0;            // of one computation; at least 0
  std::int64_t bytes = 0;     // of its value
  std::int64_t scratch = 0;   // besides, during its computation
  std::vector<int> inputs{};  // tasks whose values it reads, each once; all of smaller number
  bool result = false;        // its value must be there at the end
  bool forward = false;       // of the pass whose values the other tasks read (Chen's segments)
};

// Tasks in an order of computation.
struct RecomputeProblem {
  std::vector<RecomputeTask> tasks;

  std::size_t size() const { return tasks.size(); }
  double least_cost() const;  // each task once
  // Errors: bad_input for inputs that do not precede their task, and for negative numbers.
  base::Status check() const;
};

struct RecomputeSchedule {
  struct Step {
    int task = 0;
    std::vector<int> freed{};  // values that are freed after it, ascending
  };
  std::vector<Step> steps;
  double cost = 0;        // of all steps
  std::int64_t peak = 0;  // largest memory: during a step all values that are not freed, its own,
                          // and its scratch

  std::vector<int> order() const;  // the tasks of the steps
  std::size_t recomputations(const RecomputeProblem& problem) const {
    return steps.size() - problem.size();
  }
};

// The schedule that computes tasks in this order, which may repeat them, and frees each value after
// its last use before it is computed again. Errors: bad_input where a value is read before it is
// computed, or a task is left out. O(steps and inputs).
base::Result<RecomputeSchedule> schedule_of(const RecomputeProblem& problem,
                                            std::span<const int> order);

// Whether the schedule computes every task, each from values that are in memory then, keeps the
// results, frees only what is there, computes no value that is there, and has the cost and the peak
// that it states (costs up to rounding). Errors: bad_input with the first fault and its step.
base::Status check_schedule(const RecomputeProblem& problem, const RecomputeSchedule& schedule);

// What any schedule needs: the largest sum of a task's inputs, value and scratch.
std::int64_t least_memory(const RecomputeProblem& problem);

}  // namespace egret::extract
