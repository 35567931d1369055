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
    RecomputeMethod{"checkmate-start", "Checkmate's integer program, started from dtr's schedule"},
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

std::optional<RecomputeSchedule> dtr(const RecomputeProblem& problem, std::int64_t limit,
                                     const std::function<bool()>& should_stop) {
  std::optional<RecomputeSchedule> best =
      dtr_schedule(problem, limit, DtrCost::kLocal, should_stop);
  keep_better(best, dtr_schedule(problem, limit, DtrCost::kNeighborhood, should_stop));
  return best;
}

// Bounds first: they may end the search early, and give it a start.
RecomputeAnswer searched(const RecomputeProblem& problem, std::int64_t limit,
                         const RecomputeOptions& options) {
  const base::Deadline deadline = base::Deadline::after(options.seconds);
  RecomputeAnswer answer;
  std::vector<std::vector<int>> starts;
  // The heuristics must not take the time of the search.
  const auto over = [&] {
    return deadline.remaining() < 0.6 * options.seconds ||
           (options.should_stop && options.should_stop());
  };
  for (const auto& found : {segment_schedule(problem, limit, over), dtr(problem, limit, over)}) {
    if (found) starts.push_back(found->order());
  }
  const WaitAnswer waits = solve_waits(problem, limit, 0.25 * options.seconds, options.should_stop);
  answer.bound = waits.bound;
  answer.proven_bound = waits.proven_bound;
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

// Its bound says nothing of schedules that are not in stages.
RecomputeAnswer of_stages(const RecomputeProblem& problem, StageAnswer found) {
  return {.schedule = std::move(found.schedule),
          .bound = problem.least_cost(),
          .proven_bound = problem.least_cost(),
          .stage_bound = found.bound,
          .proven = found.proven,
          .none_in_stages = found.infeasible,
          .end = found.end};
}

RecomputeAnswer found_by(const RecomputeProblem& problem, std::int64_t limit,
                         const RecomputeOptions& options) {
  RecomputeAnswer answer{.bound = problem.least_cost(), .proven_bound = problem.least_cost()};
  if (options.method == "search") return searched(problem, limit, options);
  if (options.method == "checkmate")
    return of_stages(problem, solve_stages(problem, limit, options.seconds, options.should_stop));
  if (options.method == "checkmate-start") {
    const auto start = dtr(problem, limit, options.should_stop);
    RecomputeAnswer begun =
        of_stages(problem, solve_stages(problem, limit, options.seconds, options.should_stop,
                                        start ? start->order() : std::vector<int>()));
    keep_better(begun.schedule, start);
    return begun;
  }
  if (options.method == "checkmate-lp")
    return of_stages(problem, round_stages(problem, limit, options.seconds, options.should_stop));
  if (options.method == "dtr") answer.schedule = dtr(problem, limit, options.should_stop);
  if (options.method == "segments")
    answer.schedule = segment_schedule(problem, limit, options.should_stop);
  return answer;
}

}  // namespace

std::span<const RecomputeMethod> recompute_methods() { return kMethods; }

std::string recompute_help() {
  std::string text =
      "How to choose values that are computed again where a limit leaves no memory to keep them; "
      "none: never";
  for (const RecomputeMethod& method : kMethods)
    text += "; " + std::string(method.name) + ": " + std::string(method.summary);
  return text;
}

std::string_view outcome_of(const RecomputeAnswer& answer) {
  if (answer.impossible) return "impossible";
  if (answer.schedule) return answer.proven ? "proven" : "found";
  if (answer.none_in_stages) return "none in stages";
  return answer.end == SolverEnd::kDone ? "none found" : text_of(answer.end);
}

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
    answer = {.schedule = all,
              .bound = problem.least_cost(),
              .proven_bound = problem.least_cost(),
              .stage_bound = problem.least_cost(),
              .proven = true};
  } else if (least_memory(problem) > limit) {
    answer = {.bound = problem.least_cost(),
              .proven_bound = problem.least_cost(),
              .stage_bound = problem.least_cost(),
              .impossible = true};
  } else {
    answer = found_by(ordered.problem, limit, options);
  }
  answer.keep_all = all->peak;
  if (!answer.schedule) return answer;
  std::vector<int> order = answer.schedule->order();
  for (int& step : order) {
    const int task = ordered.origin[static_cast<std::size_t>(task_of(step))];
    step = is_back(step) ? back(task) : task;
  }
  EGRET_ASSIGN_OR_RETURN(answer.schedule, schedule_of(problem, order));
  const base::Status checked = check_schedule(problem, *answer.schedule);
  if (!checked.ok() || answer.schedule->peak > limit)
    return base::internal_error("a schedule of '" + options.method +
                                "' is wrong: " + checked.message());
  return answer;
}

}  // namespace egret::extract
