// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/kernel_times.h"

#include <numeric>
#include <utility>

#include "backends/timing/cache_state.h"
#include "backends/timing/measure.h"
#include "base/stop.h"
#include "base/timer.h"
#include "driver/measure/batch_plan.h"

namespace egret::driver {
namespace {

constexpr int kWarmUpRuns = 2;
constexpr int kLeastRuns = 10;
constexpr int kFewestRuns = 3;  // of slow graphs
constexpr double kLeastSeconds = 0.3;
constexpr double kMostSeconds = 2;
constexpr std::int64_t kOthersInRace = 3;

}  // namespace

base::Result<std::vector<KernelTime>> time_kernels(const backends::Backend& backend,
                                                   const ir::Graph& graph,
                                                   backends::CompileOptions options,
                                                   const ir::GivenInputs& given) {
  options.profile = true;
  EGRET_ASSIGN_OR_RETURN(const auto plan, compile_batch(backend, graph, options));
  const backends::MeasureOptions measuring{.min_runs = kLeastRuns,
                                           .min_seconds = kLeastSeconds,
                                           .max_seconds = kMostSeconds,
                                           .given = ir::given_by_position(graph, given),
                                           .should_stop = base::stop_requested};
  EGRET_RETURN_IF_ERROR(backends::measure(*plan, measuring).status());
  std::vector<KernelTime> times;
  double seconds = 0;
  for (backends::PlanReport::Kernel& kernel : plan->report().kernels) {
    seconds += kernel.seconds;
    times.push_back({.name = std::move(kernel.name),
                     .implementation = std::move(kernel.implementation),
                     .nodes = std::move(kernel.nodes),
                     .seconds = kernel.seconds});
  }
  if (seconds <= 0) return base::unsupported("the backend does not time its kernels");
  return times;
}

base::Result<PartTimes> time_parts(const backends::Backend& backend, const ir::Graph& graph,
                                   backends::CompileOptions options, double least_seconds) {
  options.profile = true;
  EGRET_ASSIGN_OR_RETURN(const auto plan, compile_batch(backend, graph, options));
  const std::vector<ir::Tensor> inputs = backends::random_inputs(*plan, base::Random(1));
  std::vector<ir::Tensor> outputs = plan->make_outputs();
  const std::size_t count = options.division.size() + options.layouts.reorders.size();
  std::vector<std::vector<double>> samples(count + 1);  // the last: of the rest
  std::vector<double> wholes;
  // In a race, others run between two runs of a plan.
  const backends::PlanReport report = plan->report();
  const auto of_others =
      static_cast<std::size_t>(kOthersInRace * (report.weights_bytes + report.arena_bytes));
  double seconds = 0;
  for (int run = -kWarmUpRuns; run < kLeastRuns || seconds < least_seconds; ++run) {
    if (base::stop_requested()) return base::limit_hit("interrupted");
    backends::sweep_caches(of_others, options.threads);
    const base::Stopwatch watch;
    EGRET_RETURN_IF_ERROR(plan->run_into(inputs, outputs));
    // A device's kernels have their own clock.
    const double on_device = plan->last_device_s();
    const double of_all = on_device > 0 ? on_device : watch.seconds();
    if (run < 0) continue;
    seconds += of_all;
    wholes.push_back(of_all);
    std::vector<double> of_run(count + 1, 0);
    for (const backends::PlanReport::Kernel& kernel : plan->report().kernels) {
      // A backend that divides the graph by itself has parts that nobody asked for.
      if (kernel.part >= 0 && static_cast<std::size_t>(kernel.part) < count)
        of_run[static_cast<std::size_t>(kernel.part)] += kernel.last_s;
    }
    of_run[count] = of_all - std::accumulate(of_run.begin(), of_run.end(), 0.0);
    for (std::size_t i = 0; i <= count; ++i) samples[i].push_back(of_run[i]);
    if (seconds > kMostSeconds && run >= kFewestRuns) break;
  }
  PartTimes times{.runs = static_cast<std::int64_t>(wholes.size())};
  times.whole = backends::summarize(std::move(wholes)).median_s;
  times.rest = backends::summarize(std::move(samples.back())).median_s;
  samples.pop_back();
  for (std::vector<double>& part : samples)
    times.parts.push_back(backends::summarize(std::move(part)).median_s);
  return times;
}

}  // namespace egret::driver
