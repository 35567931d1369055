// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_comparison.h"

#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/named_backend.h"
#include "base/stop.h"
#include "driver/measure/kernel_times.h"
#include "driver/select/candidate.h"

namespace egret::driver {
namespace {

base::Result<std::vector<KernelTime>> timed(const ir::Graph& graph, const OptimizeOptions& options,
                                            const rules::OpenSizes* open) {
  EGRET_ASSIGN_OR_RETURN(const backends::Backend* backend,
                         backends::backend_called(options.backend));
  EGRET_ASSIGN_OR_RETURN(const ir::Graph as_run, runnable(graph, open));
  const backends::CompileOptions plan{.threads = static_cast<int>(options.threads),
                                      .limit_arena = options.limit_arena,
                                      .precision = backends::precision_named(options.precision)};
  return time_kernels(*backend, as_run, plan, options.given_inputs);
}

}  // namespace

OptimizeReport::Kernels kernels_of(const ir::Graph& program, const OptimizeResult& result,
                                   const OptimizeOptions& options, const rules::OpenSizes* open) {
  const OptimizeReport& report = result.report;
  const OptimizeReport::Kernels predicted{.source = "predicted",
                                          .before = report.predicted.operators_before,
                                          .after = report.predicted.operators_after};
  if (!report.race.measured || !report.race.engine.empty() || base::stop_requested())
    return predicted;
  auto before = timed(program, options, open);
  if (!before.ok()) return predicted;
  auto after = timed(result.graph, options, open);
  if (!after.ok()) return predicted;
  return {.source = "measured", .before = *std::move(before), .after = *std::move(after)};
}

}  // namespace egret::driver
