// SPDX-License-Identifier: Apache-2.0
// Runs a solver in its own process. Third-party solvers sometimes crash or check the clock too
// rarely (HiGHS's presolve ran for 40 s past a limit). Neither may cost the caller its answer or
// more than its time.
#pragma once

#include <functional>

#include "extract/milp/milp.h"

namespace egret::extract {

// Solves within the given number of seconds.
using TimedSolve = std::function<base::Result<MilpAnswer>(double seconds)>;

// Runs `solve` in a forked copy of this process; the solver object in this process does not change.
// The copy is killed after `seconds`, or when `should_stop` returns true. The answer is then empty
// and `lost`, as it is if the solver crashes or fails. Without a new process it runs here.
base::Result<MilpAnswer> solve_in_process(const TimedSolve& solve, double seconds,
                                          const std::function<bool()>& should_stop);

}  // namespace egret::extract
