// SPDX-License-Identifier: Apache-2.0
// Smaller problems for methods that take time with the number of tasks.
#pragma once

#include <cstddef>

#include "extract/recompute/schedule.h"

namespace egret::extract {

// A problem of about `most` tasks, or more where fewer cannot be made: a task whose value one other
// task of its pass alone reads becomes a part of that task, the least value first. Its value is
// then scratch space. A schedule of the result is one of the given problem, with at most the same
// peak. O(tasks^2).
RecomputeProblem coarsened(const RecomputeProblem& problem, std::size_t most);

}  // namespace egret::extract
