// SPDX-License-Identifier: Apache-2.0
// Smaller problems for methods that take time with the number of tasks.
#pragma once

#include <cstddef>
#include <vector>

#include "extract/recompute/schedule.h"

namespace egret::extract {

// A problem, and for each of its tasks the given ones that it computes, in order.
struct CoarseProblem {
  RecomputeProblem problem;
  std::vector<std::vector<int>> parts;
};

// A problem of about `most` tasks, or more where fewer cannot be made: a task whose value one other
// task of its pass alone reads becomes a part of that task, the least value first. Its value is
// then scratch space. An order of the result, with its tasks replaced by their parts, is one of the
// given problem, of the same cost and with at most the same peak. O(tasks^2).
CoarseProblem coarsened(const RecomputeProblem& problem, std::size_t most);

}  // namespace egret::extract
