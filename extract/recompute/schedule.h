// SPDX-License-Identifier: Apache-2.0
// Schedules of tasks in which a value may be computed again, so that it need not stay in memory
// between its uses: each value is kept, or freed and recomputed, and both are equal. A value may
// also be copied out to slower storage, freed, and copied back: a third equal value.
//
// Copies are priced one after the other with computations: nothing runs beside a copy. A value is
// copied out at most once, since it does not change, as soon as it was computed first. The storage
// has no limit.
//
// Costs are of any unit (seconds in Egret), memory is in bytes. A schedule says what is computed
// and what is freed; check_schedule() recomputes its cost and peak without the methods that find
// schedules.
#pragma once

#include <cstdint>
#include <limits>
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
  // Of a copy of its value out to slower storage, and of each copy back. Infinite: it has none.
  double copy_out = std::numeric_limits<double>::infinity();
  double copy_back = std::numeric_limits<double>::infinity();

  bool may_leave() const { return copy_out + copy_back < std::numeric_limits<double>::infinity(); }
};

// Orders are numbers of tasks that are computed. The copy back of a task's value is a negative
// number.
constexpr int back(int task) { return -1 - task; }
constexpr bool is_back(int step) { return step < 0; }
constexpr int task_of(int step) { return is_back(step) ? back(step) : step; }

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
    bool back = false;         // its value is copied back instead of computed
    bool out = false;          // its value is copied out behind the computation
  };
  std::vector<Step> steps;
  double cost = 0;        // of all steps
  std::int64_t peak = 0;  // largest memory: during a step all values that are not freed, its own,
                          // and its scratch

  std::vector<int> order() const;  // the tasks of the steps, and the copies back
  std::size_t copies() const;      // back
  std::size_t recomputations(const RecomputeProblem& problem) const {
    return steps.size() - copies() - problem.size();
  }
};

// The schedule that computes tasks in this order, which may repeat them or copy their values back,
// and frees each value after its last use before it is computed again or copied back. Errors:
// bad_input where a value is read before it is computed, or a task is left out, or a value is
// copied back before it is computed. O(steps and inputs).
base::Result<RecomputeSchedule> schedule_of(const RecomputeProblem& problem,
                                            std::span<const int> order);

// Whether the schedule computes every task, each from values that are in memory then, keeps the
// results, frees only what is there, computes no value that is there, copies back only what was
// copied out, and has the cost and the peak that it states (costs up to rounding). Errors:
// bad_input with the first fault and its step.
base::Status check_schedule(const RecomputeProblem& problem, const RecomputeSchedule& schedule);

// What any schedule needs: the largest sum of a task's inputs, value and scratch.
std::int64_t least_memory(const RecomputeProblem& problem);

}  // namespace egret::extract
