// SPDX-License-Identifier: Apache-2.0
#include "driver/recompute/recomputed_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/formats/units.h"
#include "base/stop.h"
#include "driver/recompute/storage_rates.h"
#include "extract/recompute/baselines.h"

namespace egret::driver {
namespace {

std::vector<std::string> method_names() {
  std::vector<std::string> names{"none"};
  for (const extract::RecomputeMethod& method : extract::recompute_methods())
    names.emplace_back(method.name);
  return names;
}

base::Result<const backends::StoringBackend*> storing(const backends::Backend& backend) {
  const backends::StoringBackend* stores = backends::storing_backend(backend);
  if (stores != nullptr) return stores;
  return base::unsupported("values cannot leave memory on the backend '" +
                           std::string(backend.name()) + "'");
}

base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_scheduled(
    const backends::Backend& backend, const ScheduledGraph& scheduled,
    backends::CompileOptions options, const OffloadArguments& offload) {
  options.division = scheduled.division;
  options.limit_arena = 0;  // the order is the schedule's
  if (scheduled.stored_values.empty()) return backend.compile(scheduled.graph, options);
  EGRET_ASSIGN_OR_RETURN(const backends::StoringBackend* stores, storing(backend));
  return stores->compile_storing(scheduled.graph, options, {scheduled.stored_values, offload.to});
}

base::Result<std::unique_ptr<backends::ExecutablePlan>> compile_order(
    const backends::Backend& backend, const ir::Graph& graph, const KernelTasks& tasks,
    const backends::CompileOptions& options, const OffloadArguments& offload,
    std::span<const int> order) {
  return compile_scheduled(backend, scheduled_graph(graph, tasks, order), options, offload);
}

std::string bytes_text(std::int64_t bytes) {
  return base::format_bytes(static_cast<double>(bytes));
}

// What a try of a limit for the schedule gave.
struct Tried {
  extract::RecomputeAnswer answer;
  std::unique_ptr<backends::ExecutablePlan> plan;  // nullptr: no schedule
  std::int64_t arena = 0;
};

// The schedules and plans of one division.
class Fitting {
 public:
  Fitting(const backends::Backend& backend, const ir::Graph& graph,
          const backends::CompileOptions& options, const RecomputeArguments& arguments,
          const KernelTasks& tasks)
      : backend_(backend), graph_(graph), options_(options), arguments_(arguments), tasks_(tasks) {}

  // Moves the limit of the schedule until the arena fits: down by what the arena exceeds, up while
  // it leaves room. Both happen: kernels have scratch space and the arena has gaps, and kernels
  // write over values that they read, which schedules count twice.
  base::Status run(RecomputedPlan& result) const {
    constexpr int kTries = 7, kFruitless = 3;
    const std::int64_t limit = options_.limit_arena;
    std::int64_t low = 0,
                 high = 2 * limit;  // the largest that fits so far, the least that does not
    std::int64_t scheduled = limit;
    int fruitless = 0;  // limits without a schedule
    for (int tried = 0; tried < kTries && !base::stop_requested(); ++tried) {
      EGRET_ASSIGN_OR_RETURN(Tried now, attempt(scheduled));
      if (tried == 0) {
        result.bound = now.answer.bound;
        result.proven_bound = now.answer.proven_bound;
        if (!result.found()) result.answer = now.answer;
      }
      if (now.plan == nullptr) {
        if (result.found() || ++fruitless == kFruitless) break;
        low = std::max(low, scheduled);
        scheduled = high < 2 * limit ? low + (high - low) / 2 : scheduled + limit / 5;
      } else if (now.arena <= limit) {
        low = std::max(low, scheduled);
        const bool keeps_all = now.answer.schedule->steps.size() == tasks_.kernels.size();
        take(std::move(now), scheduled, result);
        if (keeps_all) break;
        scheduled = next_above(low, high, now.arena);
      } else {
        high = std::min(high, scheduled);
        // One part in a hundred for the gaps of another order.
        const std::int64_t below =
            std::min(scheduled, now.answer.schedule->peak) - (now.arena - limit) - limit / 100;
        scheduled = below > low ? below : low + (high - low) / 2;
      }
      if (high - low <= limit / 100) break;
    }
    return base::ok();
  }

 private:
  base::Result<Tried> attempt(std::int64_t scheduled) const {
    Tried tried;
    EGRET_ASSIGN_OR_RETURN(tried.answer, extract::recompute(tasks_.problem, scheduled,
                                                            {.method = arguments_.method,
                                                             .seconds = arguments_.seconds,
                                                             .should_stop = base::stop_requested}));
    if (!tried.answer.schedule || base::stop_requested()) return tried;
    EGRET_ASSIGN_OR_RETURN(tried.plan,
                           compile_order(backend_, graph_, tasks_, options_, arguments_.offload,
                                         tried.answer.schedule->order()));
    tried.arena = tried.plan->report().arena_bytes;
    return tried;
  }

  // Between what fits and what does not; by the room in the arena where nothing did not yet.
  std::int64_t next_above(std::int64_t low, std::int64_t high, std::int64_t arena) const {
    const std::int64_t limit = options_.limit_arena;
    const std::int64_t middle = low + (high - low) / 2;
    return high < 2 * limit ? middle : std::min(middle, low + (limit - arena) + limit / 100);
  }

  // Of plans that fit, the cheaper one.
  static void take(Tried tried, std::int64_t scheduled, RecomputedPlan& result) {
    if (result.found() && tried.answer.schedule->cost >= result.answer.schedule->cost) return;
    result.answer = std::move(tried.answer);
    result.plan = std::move(tried.plan);
    result.arena = tried.arena;
    result.scheduled_limit = scheduled;
  }

  const backends::Backend& backend_;
  const ir::Graph& graph_;
  const backends::CompileOptions& options_;
  const RecomputeArguments& arguments_;
  const KernelTasks& tasks_;
};

// Costs of the tasks by runs of the step in an order that computes each task at least once: the
// least time of each, since the first run touches memory for the first time.
base::Status measure_costs(const backends::Backend& backend, const ir::Graph& graph,
                           const backends::CompileOptions& options, const OffloadArguments& offload,
                           std::span<const int> order, std::span<const ir::Tensor> inputs,
                           KernelTasks& tasks) {
  constexpr int kRuns = 3;
  backends::CompileOptions profiled = options;
  profiled.profile = true;
  const ScheduledGraph scheduled = scheduled_graph(graph, tasks, order);
  EGRET_ASSIGN_OR_RETURN(const auto plan, compile_scheduled(backend, scheduled, profiled, offload));
  std::vector<double> least(tasks.kernels.size(), std::numeric_limits<double>::infinity());
  for (int run = 0; run < kRuns && !base::stop_requested(); ++run) {
    EGRET_RETURN_IF_ERROR(plan->run(inputs).status());
    // A part of the division may be several kernels, with copies between layouts.
    std::vector<double> seconds(scheduled.tasks.size(), 0);
    for (const backends::PlanReport::Kernel& kernel : plan->report().kernels) {
      if (kernel.part >= 0 && static_cast<std::size_t>(kernel.part) < seconds.size())
        seconds[static_cast<std::size_t>(kernel.part)] += kernel.last_s;
    }
    for (std::size_t part = 0; part < seconds.size(); ++part) {
      if (scheduled.tasks[part] < 0) continue;
      double& known = least[static_cast<std::size_t>(scheduled.tasks[part])];
      known = std::min(known, seconds[part]);
    }
  }
  for (std::size_t task = 0; task < least.size(); ++task) {
    if (std::isfinite(least[task])) tasks.problem.tasks[task].cost = least[task];
  }
  return base::ok();
}

// With the division that the options ask for.
base::Result<RecomputedPlan> compile_within(const backends::Backend& backend,
                                            const ir::Graph& graph,
                                            const backends::CompileOptions& options,
                                            const RecomputeArguments& arguments,
                                            std::span<const ir::Tensor> inputs) {
  EGRET_ASSIGN_OR_RETURN(KernelTasks tasks,
                         priced_tasks(backend, graph, options, "roofline", inputs));
  EGRET_RETURN_IF_ERROR(price_copies(arguments.offload, tasks.problem));
  RecomputedPlan result;
  result.tasks = tasks.kernels.size();
  result.least_cost = tasks.problem.least_cost();
  result.scheduled_limit = options.limit_arena;
  const std::vector<int> all = extract::frugal_task_order(tasks.problem);
  EGRET_ASSIGN_OR_RETURN(auto kept, compile_order(backend, graph, tasks, options, {}, all));
  result.keep_all_arena = kept->report().arena_bytes;
  kept.reset();
  const Fitting fitting(backend, graph, options, arguments, tasks);
  EGRET_RETURN_IF_ERROR(fitting.run(result));
  if (arguments.prices != "measured" || !result.found() || base::stop_requested()) return result;
  // The kernels run within the limit only: the schedule by estimates fits. With its measured costs
  // others may be cheaper.
  const std::vector<int> fits = result.answer.schedule->order();
  EGRET_RETURN_IF_ERROR(
      measure_costs(backend, graph, options, arguments.offload, fits, inputs, tasks));
  result.least_cost = tasks.problem.least_cost();
  EGRET_ASSIGN_OR_RETURN(result.answer.schedule, extract::schedule_of(tasks.problem, fits));
  result.answer.proven = false;
  result.bound = result.proven_bound = result.least_cost;
  EGRET_RETURN_IF_ERROR(fitting.run(result));
  return result;
}

}  // namespace

const base::OptionTable<RecomputeArguments>& RecomputeArguments::table() {
  using R = RecomputeArguments;
  static const base::OptionTable<R> rows{
      "recompute",
      {{"recompute-by", &R::method, extract::recompute_help(), base::one_of(method_names())},
       {"recompute-time", &R::seconds, kRecomputeTimeHelp, base::seconds()},
       {"recompute-prices", &R::prices, kRecomputePricesHelp,
        base::one_of({"measured", "roofline"})}}};
  return rows;
}

const base::OptionTable<OffloadArguments>& OffloadArguments::table() {
  using O = OffloadArguments;
  static const base::OptionTable<O> rows{
      "offload",
      {{"offload-to", &O::to, kOffloadToHelp, base::output_folder()},
       {"offload-rate", &O::rate, kOffloadRateHelp, base::bytes()}}};
  return rows;
}

base::Status price_copies(const OffloadArguments& offload, extract::RecomputeProblem& problem) {
  if (!offload.asked()) return base::ok();
  StorageRates rates{.bytes_per_second_out = static_cast<double>(offload.rate),
                     .bytes_per_second_back = static_cast<double>(offload.rate)};
  if (offload.rate == 0) {
    EGRET_ASSIGN_OR_RETURN(rates, measured_storage(offload.to));
  }
  price_copies(rates, problem);
  return base::ok();
}

base::Result<KernelTasks> priced_tasks(const backends::Backend& backend, const ir::Graph& graph,
                                       const backends::CompileOptions& options,
                                       const std::string& prices,
                                       std::span<const ir::Tensor> inputs) {
  EGRET_ASSIGN_OR_RETURN(const backends::Division division, backend.divide(graph, options));
  EGRET_ASSIGN_OR_RETURN(KernelTasks tasks, kernel_tasks(graph, division));
  if (prices != "measured") return tasks;
  const std::vector<int> all = extract::frugal_task_order(tasks.problem);
  EGRET_RETURN_IF_ERROR(measure_costs(backend, graph, options, {}, all, inputs, tasks));
  return tasks;
}

base::Result<RecomputedPlan> compile_recomputed(const backends::Backend& backend,
                                                const ir::Graph& graph,
                                                const backends::CompileOptions& options,
                                                const RecomputeArguments& arguments,
                                                std::span<const ir::Tensor> inputs) {
  if (arguments.offload.asked()) EGRET_RETURN_IF_ERROR(storing(backend).status());
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
  json.set("scheduled_limit_bytes", scheduled_limit).set("bound_s", bound);
  json.set("proven_bound_s", proven_bound).set("proven", is_proven()).set("found", found());
  json.set("outcome", std::string(extract::outcome_of(answer)));
  if (found()) {
    json.set("arena_bytes", arena);
    json.set("scheduled_bytes", answer.schedule->peak).set("scheduled_s", answer.schedule->cost);
    const std::size_t copies = answer.schedule->copies();
    json.set("computations", std::uint64_t{answer.schedule->steps.size() - copies});
    json.set("copies_back", std::uint64_t{copies});
  }
  return json;
}

std::string RecomputedPlan::text() const {
  const std::size_t copies = answer.schedule->copies();
  const auto again = static_cast<std::int64_t>(answer.schedule->steps.size() - copies - tasks);
  const std::string back =
      copies == 0
          ? ""
          : " and " + base::counted(static_cast<std::int64_t>(copies), "value is", "values are") +
                " copied back";
  // In place, plans may do with less memory than schedules count. The bound is then not one of
  // theirs.
  const std::string at_least =
      answer.schedule->cost < bound * (1 - 1e-9)
          ? ""
          : " (at least " + base::format_percent(std::max(0.0, bound / least_cost - 1)) +
                " as schedules count memory)";
  return base::counted(again, "kernel is", "kernels are") + " computed again" + back +
         ": activations take " + bytes_text(arena) + " instead of " + bytes_text(keep_all_arena) +
         ", and the step is expected to take " +
         base::format_percent(answer.schedule->cost / least_cost - 1) + " longer" + at_least + "\n";
}

}  // namespace egret::driver
