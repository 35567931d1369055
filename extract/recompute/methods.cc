// SPDX-License-Identifier: Apache-2.0
#include "extract/recompute/methods.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "base/timer.h"
#include "extract/recompute/baselines.h"
#include "extract/recompute/order_search.h"
#include "extract/recompute/stage_program.h"
#include "extract/recompute/wait_program.h"

namespace egret::extract {
namespace {

constexpr std::array kMethods = {
    RecomputeMethod{"search",
                    "large neighbourhood search from the heuristics' schedules, with "
                    "bounds by linear programs"},
    RecomputeMethod{"checkmate", "Checkmate's integer program, for tens of tasks"},
    RecomputeMethod{"checkmate-lp", "Checkmate's rounding of its linear relaxation"},
    RecomputeMethod{"dtr", "dynamic tensor rematerialization, the better of its two heuristics"},
    RecomputeMethod{"segments", "Chen's segments, of the best number of segments"},
    RecomputeMethod{"keep-all", "no recomputation"},
};

// Programs with more columns take longer than an answer is worth.
constexpr std::size_t kMostColumns = 6000;

void keep_better(std::optional<RecomputeSchedule>& best, std::optional<RecomputeSchedule> other) {
  if (other && (!best || other->cost < best->cost)) best = std::move(other);
}

std::optional<RecomputeSchedule> keep_all(const RecomputeProblem& problem) {
  std::vector<int> order(problem.size());
  std::iota(order.begin(), order.end(), 0);
  auto schedule = schedule_of(problem, order);
  return schedule.ok() ? std::optional(*std::move(schedule)) : std::nullopt;
}

std::optional<RecomputeSchedule> dtr(const RecomputeProblem& problem, std::int64_t limit) {
  std::optional<RecomputeSchedule> best = dtr_schedule(problem, limit, DtrCost::kLocal);
  keep_better(best, dtr_schedule(problem, limit, DtrCost::kNeighborhood));
  return best;
}

// Bounds first: they may end the search early, and give it a start.
RecomputeAnswer searched(const RecomputeProblem& problem, std::int64_t limit,
                         const RecomputeOptions& options) {
  const base::Deadline deadline = base::Deadline::after(options.seconds);
  RecomputeAnswer answer;
  std::vector<std::vector<int>> starts;
  for (const auto& found : {dtr(problem, limit), segment_schedule(problem, limit)}) {
    if (found) starts.push_back(found->order());
  }
  const WaitAnswer waits = solve_waits(problem, limit, 0.25 * options.seconds, options.should_stop);
  answer.bound = waits.bound;
  if (waits.order) starts.push_back(*waits.order);
  if (stage_program_columns(problem) <= kMostColumns) {
    const StageAnswer stages =
        solve_stages(problem, limit, 0.4 * options.seconds, options.should_stop);
    if (stages.schedule) starts.push_back(stages.schedule->order());
  }
  answer.schedule = search_orders(problem, limit, starts,
                                  {.seconds = deadline.remaining(),
                                   .seed = options.seed,
                                   .least_cost = answer.bound,
                                   .should_stop = options.should_stop});
  answer.proven = answer.schedule && answer.schedule->cost <= answer.bound * (1 + 1e-9);
  return answer;
}

RecomputeAnswer of_stages(StageAnswer found) {
  return {.schedule = std::move(found.schedule), .bound = found.bound, .proven = found.proven};
}

RecomputeAnswer found_by(const RecomputeProblem& problem, std::int64_t limit,
                         const RecomputeOptions& options) {
  RecomputeAnswer answer{.bound = problem.least_cost()};
  if (options.method == "search") return searched(problem, limit, options);
  if (options.method == "checkmate")
    return of_stages(solve_stages(problem, limit, options.seconds, options.should_stop));
  if (options.method == "checkmate-lp")
    return of_stages(round_stages(problem, limit, options.seconds, options.should_stop));
  if (options.method == "dtr") answer.schedule = dtr(problem, limit);
  if (options.method == "segments") answer.schedule = segment_schedule(problem, limit);
  return answer;
}

}  // namespace

std::span<const RecomputeMethod> recompute_methods() { return kMethods; }

base::Result<RecomputeAnswer> recompute(const RecomputeProblem& problem, std::int64_t limit,
                                        const RecomputeOptions& options) {
  if (std::ranges::find(kMethods, options.method, &RecomputeMethod::name) == kMethods.end())
    return base::usage_error("there is no method of recomputation '" + options.method + "'");
  EGRET_RETURN_IF_ERROR(problem.check());
  const ReorderedProblem ordered = reordered(problem, frugal_task_order(problem));
  const std::optional<RecomputeSchedule> all = keep_all(ordered.problem);
  EGRET_CHECK(all.has_value(), "tasks precede their readers");
  RecomputeAnswer answer;
  if (all->peak <= limit) {
    answer = {.schedule = all, .bound = problem.least_cost(), .proven = true};
  } else if (least_memory(problem) > limit) {
    answer = {.bound = problem.least_cost(), .impossible = true};
  } else {
    answer = found_by(ordered.problem, limit, options);
  }
  answer.keep_all = all->peak;
  if (!answer.schedule) return answer;
  std::vector<int> order = answer.schedule->order();
  for (int& task : order) task = ordered.origin[static_cast<std::size_t>(task)];
  EGRET_ASSIGN_OR_RETURN(answer.schedule, schedule_of(problem, order));
  const base::Status checked = check_schedule(problem, *answer.schedule);
  if (!checked.ok() || answer.schedule->peak > limit)
    return base::internal_error("a schedule of '" + options.method +
                                "' is wrong: " + checked.message());
  return answer;
}

}  // namespace egret::extract
