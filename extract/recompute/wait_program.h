// SPDX-License-Identifier: Apache-2.0
// A lower bound on the cost of schedules within a limit, by a program that grows with the number of
// inputs instead of with the square of the number of tasks.
//
// A wait of a value is the time between two of its readers. While a task runs for the first time,
// the values that wait, its inputs and its own value are in memory together. A value that does not
// stay over a wait is computed again at least once in it. What it reads then was kept since its own
// last reader, or is computed again too. Instead of being computed again a value may be copied
// back, and is then copied out once: a value that does not stay costs at least the lesser of both.
// The program chooses which waits are kept. It neglects the memory during recomputations, and that
// values may be needed several times; so its least cost is a bound, for schedules whose first
// computations come in the order of the tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "extract/recompute/schedule.h"

namespace egret::extract {

struct WaitAnswer {
  double bound = 0;  // at least the problem's least cost; as exact as the solver's arithmetic
  // What the duals of the relaxation prove, whatever the solver's rounding.
  double proven_bound = 0;
  // The order in which values that the program gives up are computed again; it may exceed the
  // limit.
  std::optional<std::vector<int>> order{};
};

WaitAnswer solve_waits(const RecomputeProblem& problem, std::int64_t limit, double seconds,
                       const std::function<bool()>& should_stop = {});

}  // namespace egret::extract
