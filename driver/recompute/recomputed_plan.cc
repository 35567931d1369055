// SPDX-License-Identifier: Apache-2.0
#include "driver/recompute/recomputed_plan.h"

#include <algorithm>
#include <utility>

#include "base/formats/units.h"
#include "base/stop.h"
#include "extract/recompute/baselines.h"

namespace egret::driver {
namespace {

std::vector<std::string> method_names() {
  std::vector<std::string> names{"none"};
  for (const extract::RecomputeMethod& method : extract::recompute_methods())
    names.emplace_back(method.name);
  return names;
}

backends::CompileOptions with_division(backends::CompileOptions options,
                                       backends::Division division) {
  options.division = std::move(division);
  options.limit_arena = 0;  // the order is the schedule's
  return options;
}

base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_order(
    const backends::Backend& backend, const ir::Graph& graph, const KernelTasks& tasks,
    const backends::CompileOptions& options, std::span<const int> order) {
  const ScheduledGraph scheduled = scheduled_graph(graph, tasks, order);
  return backend.compile(scheduled.graph, with_division(options, scheduled.division));
}

std::string bytes_text(std::int64_t bytes) {
  return base::format_bytes(static_cast<double>(bytes));
}

// With the division that the options ask for.
base::Result<RecomputedPlan> compile_within(const backends::Backend& backend,
                                            const ir::Graph& graph,
                                            const backends::CompileOptions& options,
                                            const RecomputeArguments& arguments,
                                            std::span<const ir::Tensor> inputs) {
  constexpr int kTries = 6;
  EGRET_ASSIGN_OR_RETURN(const KernelTasks tasks,
                         priced_tasks(backend, graph, options, arguments.prices, inputs));
  RecomputedPlan result;
  result.tasks = tasks.kernels.size();
  result.least_cost = tasks.problem.least_cost();
  const std::int64_t limit = options.limit_arena;
  const std::vector<int> all = extract::frugal_task_order(tasks.problem);
  EGRET_ASSIGN_OR_RETURN(auto kept, compile_order(backend, graph, tasks, options, all));
  result.keep_all_arena = kept->report().arena_bytes;
  kept.reset();
  result.scheduled_limit = limit;
  for (int tried = 0; tried < kTries && !base::stop_requested(); ++tried) {
    EGRET_ASSIGN_OR_RETURN(result.answer,
                           extract::recompute(tasks.problem, result.scheduled_limit,
                                              {.method = arguments.method,
                                               .seconds = arguments.seconds,
                                               .should_stop = base::stop_requested}));
    if (!result.answer.schedule) return result;
    EGRET_ASSIGN_OR_RETURN(
        auto plan, compile_order(backend, graph, tasks, options, result.answer.schedule->order()));
    const std::int64_t arena = plan->report().arena_bytes;
    if (arena <= limit) {
      result.plan = std::move(plan);
      result.arena = arena;
      return result;
    }
    // By what the arena exceeds the limit, and one part in a hundred for the gaps of another order.
    result.scheduled_limit = std::min(result.scheduled_limit, result.answer.schedule->peak) -
                             (arena - limit) - limit / 100;
  }
  return result;
}

}  // namespace

const base::OptionTable<RecomputeArguments>& RecomputeArguments::table() {
  using R = RecomputeArguments;
  std::string methods;
  for (const extract::RecomputeMethod& method : extract::recompute_methods())
    methods += " " + std::string(method.name) + ": " + std::string(method.summary) + ".";
  static const base::OptionTable<R> rows{
      "recompute",
      {{"recompute-by", &R::method,
        "How to choose values that are computed again where --limit-arena leaves no memory to keep "
        "them. none: never." +
            methods,
        base::one_of(method_names())},
       {"recompute-time", &R::seconds, kRecomputeTimeHelp, base::seconds()},
       {"recompute-prices", &R::prices, kRecomputePricesHelp,
        base::one_of({"measured", "roofline"})}}};
  return rows;
}

base::Result<KernelTasks> priced_tasks(const backends::Backend& backend, const ir::Graph& graph,
                                       const backends::CompileOptions& options,
                                       const std::string& prices,
                                       std::span<const ir::Tensor> inputs) {
  EGRET_ASSIGN_OR_RETURN(const backends::Division division, backend.divide(graph, options));
  EGRET_ASSIGN_OR_RETURN(KernelTasks tasks, kernel_tasks(graph, division));
  if (prices != "measured") return tasks;
  constexpr int kRuns = 3;
  backends::CompileOptions profiled = options;
  profiled.profile = true;
  const ScheduledGraph all =
      scheduled_graph(graph, tasks, extract::frugal_task_order(tasks.problem));
  EGRET_ASSIGN_OR_RETURN(const auto plan,
                         backend.compile(all.graph, with_division(profiled, all.division)));
  // The least time of each task: the first run touches memory for the first time.
  std::vector<double> least(tasks.kernels.size(), 0);
  for (int run = 0; run < kRuns; ++run) {
    EGRET_RETURN_IF_ERROR(plan->run(inputs).status());
    std::vector<double> seconds(tasks.kernels.size(), 0);
    for (const backends::PlanReport::Kernel& kernel : plan->report().kernels) {
      if (kernel.part < 0 || static_cast<std::size_t>(kernel.part) >= all.tasks.size()) continue;
      const int task = all.tasks[static_cast<std::size_t>(kernel.part)];
      if (task >= 0) seconds[static_cast<std::size_t>(task)] += kernel.last_s;
    }
    for (std::size_t task = 0; task < least.size(); ++task)
      least[task] = run == 0 ? seconds[task] : std::min(least[task], seconds[task]);
  }
  for (std::size_t task = 0; task < least.size(); ++task)
    tasks.problem.tasks[task].cost = least[task];
  return tasks;
}

base::Result<RecomputedPlan> compile_recomputed(const backends::Backend& backend,
                                                const ir::Graph& graph,
                                                const backends::CompileOptions& options,
                                                const RecomputeArguments& arguments,
                                                std::span<const ir::Tensor> inputs) {
  EGRET_ASSIGN_OR_RETURN(RecomputedPlan fused,
                         compile_within(backend, graph, options, arguments, inputs));
  if (fused.found() || !options.fuse || base::stop_requested()) return fused;
  backends::CompileOptions apart = options;
  apart.fuse = false;
  EGRET_ASSIGN_OR_RETURN(RecomputedPlan single,
                         compile_within(backend, graph, apart, arguments, inputs));
  return single.found() ? std::move(single) : std::move(fused);
}

base::Json RecomputedPlan::to_json() const {
  base::Json json = base::Json::object();
  json.set("tasks", std::uint64_t{tasks}).set("keep_all_arena_bytes", keep_all_arena);
  json.set("keep_all_bytes", answer.keep_all).set("least_s", least_cost);
  json.set("scheduled_limit_bytes", scheduled_limit).set("bound_s", answer.bound);
  json.set("proven", answer.proven).set("found", found());
  if (found()) {
    json.set("arena_bytes", arena);
    json.set("scheduled_bytes", answer.schedule->peak).set("scheduled_s", answer.schedule->cost);
    json.set("computations", std::uint64_t{answer.schedule->steps.size()});
  }
  return json;
}

std::string RecomputedPlan::text() const {
  const auto again = static_cast<std::int64_t>(answer.schedule->steps.size() - tasks);
  return base::counted(again, "kernel is", "kernels are") + " computed again: activations take " +
         bytes_text(arena) + " instead of " + bytes_text(keep_all_arena) +
         ", and the step is expected to take " +
         base::format_percent(answer.schedule->cost / least_cost - 1) + " longer (at least " +
         base::format_percent(std::max(0.0, answer.bound / least_cost - 1)) + ")\n";
}

}  // namespace egret::driver
