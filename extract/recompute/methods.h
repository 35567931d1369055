// SPDX-License-Identifier: Apache-2.0
// The methods that find schedules with recomputations, by name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "extract/recompute/schedule.h"

namespace egret::extract {

struct RecomputeMethod {
  std::string_view name, summary;
};
// The default first.
std::span<const RecomputeMethod> recompute_methods();

struct RecomputeOptions {
  std::string method = "search";
  double seconds = 10;
  std::uint64_t seed = 1;
  std::function<bool()> should_stop{};
};

struct RecomputeAnswer {
  std::optional<RecomputeSchedule> schedule{};  // nothing: none was found within the limit
  // No schedule within the limit whose first computations come in frugal_task_order() costs less.
  double bound = 0;
  bool proven = false;        // the schedule is of that cost (of Checkmate: in stages)
  bool impossible = false;    // proven: some task needs more memory than the limit by itself
  std::int64_t keep_all = 0;  // the peak without recomputation, in frugal_task_order()
};

// The schedule was verified with check_schedule(), and its peak is at most the limit. Errors:
// bad_input for a problem that is none; usage for an unknown method.
base::Result<RecomputeAnswer> recompute(const RecomputeProblem& problem, std::int64_t limit,
                                        const RecomputeOptions& options);

}  // namespace egret::extract
