// SPDX-License-Identifier: Apache-2.0
// Checkmate's integer program (Jain et al., "Checkmate: breaking the memory wall with optimal
// tensor rematerialization", MLSys 2020): stage t computes task t for the first time. R[t,i] says
// that stage t computes i, S[t,i] that value i stays in memory from stage t-1 into stage t, and
// FREE[t,i,k] that i is freed behind task k of stage t; memory during each task is at most the
// limit. Tasks of a stage come in order, each at most once.
//
// FREE is continuous here: it is bounded by each of the reasons to keep the value instead of by
// their number (Checkmate's equation 7), which is a tighter relaxation of the same program.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "extract/recompute/linear_bound.h"
#include "extract/recompute/schedule.h"

namespace egret::extract {

struct StageAnswer {
  std::optional<RecomputeSchedule> schedule{};
  double bound = 0;         // no schedule in stages costs less; one that is not may
  bool proven = false;      // the schedule is of least cost, among those in stages
  bool infeasible = false;  // no schedule in stages keeps to the limit
  SolverEnd end = SolverEnd::kDone;
};

// Number of columns of the program, about tasks * (tasks + inputs); for limits on its size.
std::size_t stage_program_columns(const RecomputeProblem& problem);

// The optimum within the solver's time, or the best schedule found and the bound. First
// computations come in the order of the tasks. Schedules in stages are not all of these: within a
// stage, tasks come in order too. `start` is an order to start from, or empty; one that does not
// keep to the limit in stages is not used.
StageAnswer solve_stages(const RecomputeProblem& problem, std::int64_t limit, double seconds,
                         const std::function<bool()>& should_stop = {},
                         const std::vector<int>& start = {});

// The same computations in stages, each stage's in the order of the tasks, as values of the
// program's columns, read back as an order; nothing where they exceed the limit or where the order
// computes something behind its last first computation.
std::optional<std::vector<int>> order_in_stages(const RecomputeProblem& problem, std::int64_t limit,
                                                const std::vector<int>& order);

// Checkmate's rounding of the relaxation: values stay where S exceeds a threshold, and everything
// else that a stage needs is computed in it. The cheapest schedule that fits of several thresholds,
// and of relaxations within 100, 90, ... 50 % of the limit, within the time.
StageAnswer round_stages(const RecomputeProblem& problem, std::int64_t limit, double seconds,
                         const std::function<bool()>& should_stop = {});

}  // namespace egret::extract
