// SPDX-License-Identifier: Apache-2.0
// A solver's run in a process of its own. Solvers of others crash now and then, and look at the
// clock too seldom (HiGHS's presolve ran for 40 s past a limit); neither must cost the caller the
// answer that it has, nor more than its time.
#pragma once

#include <functional>

#include "extract/milp/milp.h"

namespace egret::extract {

// Solves within so many seconds.
using TimedSolve = std::function<base::Result<MilpAnswer>(double seconds)>;

// What `solve` answers in a copy of this process; a solver here stays as it was.
// The copy is killed a little after `seconds`, or when `should_stop` says so: the answer is then
// empty and `lost`, as it is when the solver crashes or fails. Where no process can be made it runs
// here.
base::Result<MilpAnswer> solve_in_process(const TimedSolve& solve, double seconds,
                                          const std::function<bool()>& should_stop);

}  // namespace egret::extract
