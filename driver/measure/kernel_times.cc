// SPDX-License-Identifier: Apache-2.0
#include "driver/measure/kernel_times.h"

#include <utility>

#include "backends/timing/measure.h"
#include "base/stop.h"
#include "driver/measure/batch_plan.h"

namespace egret::driver {
namespace {

constexpr int kLeastRuns = 10;
constexpr double kLeastSeconds = 0.3;
constexpr double kMostSeconds = 2;

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

}  // namespace egret::driver
