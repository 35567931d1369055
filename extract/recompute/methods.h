// SPDX-License-Identifier: Apache-2.0
// The methods that find schedules with recomputations, by name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "extract/recompute/linear_bound.h"
#include "extract/recompute/schedule.h"

namespace egret::extract {

struct RecomputeMethod {
  std::string_view name, summary;
};
// The default first.
std::span<const RecomputeMethod> recompute_methods();
// Of the option that names one of them.
std::string recompute_help();

struct RecomputeOptions {
  std::string method = "search";
  double seconds = 10;
  std::uint64_t seed = 1;
  std::function<bool()> should_stop{};
};

struct RecomputeAnswer {
  std::optional<RecomputeSchedule> schedule{};  // nothing: none was found within the limit
  // No schedule within the limit whose first computations come in frugal_task_order() costs less.
  // Only the search looks for more than the cost that keeps all values.
  double bound = 0;
  double proven_bound = 0;  // the part of it that does not rely on a solver's arithmetic
  // Of Checkmate's methods: no schedule in stages costs less. Others may.
  double stage_bound = 0;
  bool proven = false;      // the schedule is of the cost of `bound`; of Checkmate, of stage_bound
  bool impossible = false;  // proven: some task needs more memory than the limit by itself
  bool none_in_stages =
      false;  // says Checkmate's program: no schedule in stages keeps to the limit
  SolverEnd end = SolverEnd::kDone;  // of Checkmate's methods: why nothing better is known
  std::int64_t keep_all = 0;         // the peak without recomputation, in frugal_task_order()
};

// What became of it: "proven", "found", "impossible", "none in stages", "none found", or for a
// method without a schedule how its solver ended.
std::string_view outcome_of(const RecomputeAnswer& answer);

// The schedule was verified with check_schedule(), and its peak is at most the limit. Errors:
// bad_input for a problem that is none; usage for an unknown method.
base::Result<RecomputeAnswer> recompute(const RecomputeProblem& problem, std::int64_t limit,
                                        const RecomputeOptions& options);

}  // namespace egret::extract
