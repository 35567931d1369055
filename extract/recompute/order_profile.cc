// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/order_profile.h"

#include <algorithm>

namespace egret::extract {

void OrderProfile::evaluate(std::span<const int> order) {
  const std::size_t steps = order.size();
  std::ranges::fill(made_, -1);
  left_.assign(left_.size(), false);
  last_.assign(steps, 0);
  cost_ = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    const auto at = static_cast<std::size_t>(task_of(order[step]));
    const RecomputeTask& task = problem_.tasks[at];
    const int now = static_cast<int>(step);
    made_[at] = now;
    last_[step] = now;
    if (is_back(order[step])) {
      cost_ += left_[at] ? task.copy_back : task.copy_out + task.copy_back;
      left_[at] = true;
      continue;
    }
    for (const int input : task.inputs)
      last_[static_cast<std::size_t>(made_[static_cast<std::size_t>(input)])] = now;
    cost_ += task.cost;
  }
  for (std::size_t i = 0; i < problem_.size(); ++i) {
    if (problem_.tasks[i].result && made_[i] >= 0)
      last_[static_cast<std::size_t>(made_[i])] = static_cast<int>(steps) - 1;
  }
  // Differences first, then their sums.
  memory_.assign(steps + 1, 0);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::int64_t bytes = problem_.tasks[static_cast<std::size_t>(task_of(order[step]))].bytes;
    memory_[step] += bytes;
    memory_[static_cast<std::size_t>(last_[step]) + 1] -= bytes;
  }
  std::int64_t live = 0;
  excess_ = 0;
  peak_ = 0;
  fullest_ = 0;
  for (std::size_t step = 0; step < steps; ++step) {
    live += memory_[step];
    memory_[step] = live;
    if (!is_back(order[step]))
      memory_[step] += problem_.tasks[static_cast<std::size_t>(order[step])].scratch;
    if (memory_[step] > limit_) excess_ += static_cast<double>(memory_[step] - limit_);
    if (memory_[step] > peak_) {
      peak_ = memory_[step];
      fullest_ = step;
    }
  }
  memory_.resize(steps);
}

}  // namespace egret::extract
