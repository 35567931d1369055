// SPDX-License-Identifier: Apache-2.0
// Searches for a cheap schedule within a limit of memory.
//
// Method: large neighbourhood search over orders of computation. A move frees a value over one of
// its waits (from one reader to the next) that covers the fullest step, and computes it again
// before that reader, or copies it back. What it then reads is kept longer where memory allows, and
// computed again or copied back elsewhere. Moves are made, the best ratio of freed memory to cost
// first, until the order fits. Then every recomputation that the order can do without is removed,
// some are removed at random, and the order is repaired again. The starts are those given, and the
// order in which all is kept. While nothing fits, it starts again until the time is over, with
// growing noise. O(steps) for each evaluated order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "extract/recompute/schedule.h"

namespace egret::extract {

struct OrderSearchOptions {
  double seconds = 10;
  std::int64_t rounds = 3000;  // destructions and repairs; the answer depends on them alone, where
                               // time suffices
  std::uint64_t seed = 1;
  double least_cost = 0;  // the search ends at this cost: a lower bound
  std::function<bool()> should_stop{};
};

// The best schedule found within the limit; nothing where none was found in the time. `starts` may
// be of any size.
std::optional<RecomputeSchedule> search_orders(const RecomputeProblem& problem, std::int64_t limit,
                                               std::span<const std::vector<int>> starts,
                                               const OrderSearchOptions& options);

}  // namespace egret::extract
