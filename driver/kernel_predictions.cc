// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_predictions.h"

#include <algorithm>

#include "base/stop.h"
#include "driver/measure/interference.h"

namespace egret::driver {
namespace {

bool is_measured(const Setup& setup, const OptimizeOptions& options) {
  return setup.costs.profiled != nullptr && options.profile_time > 0 && !options.no_measure &&
         setup.engine == nullptr && !setup.predicts_by_kernels &&
         setup.backend->divide(ir::Graph(), setup.plan).ok();
}

}  // namespace

KeptTimes kept_times(const Setup& setup) {
  return {.database = setup.costs.database.get(),
          .machine = setup.machine,
          .disturbed = [execution = setup.execution] { return is_disturbed(execution); }};
}

base::Result<KernelPrediction> predict_by_kernels(const ir::Graph& original,
                                                  std::vector<Candidate>& candidates,
                                                  const Setup& setup,
                                                  const OptimizeOptions& options) {
  if (!is_measured(setup, options)) return KernelPrediction();
  KeptTimes kept = kept_times(setup);
  kept.seconds = std::min(kept.seconds, options.measure_time);
  const auto predicted = [&](const ir::Graph& graph) -> base::Result<KernelPrediction> {
    // As the backend compiles it by itself: no division is asked for, and all is the rest.
    const auto known = kept_part_times(*setup.backend, graph, setup.plan, kept);
    if (base::stop_requested()) return base::limit_hit("interrupted");
    // Where it cannot run, the race says why.
    if (!known.ok()) return KernelPrediction();
    return KernelPrediction{.seconds = (*known)->times.whole, .known_s = (*known)->times.whole};
  };
  EGRET_ASSIGN_OR_RETURN(const KernelPrediction before, predicted(original));
  for (Candidate& candidate : candidates) {
    if (candidate.division.empty()) {
      EGRET_ASSIGN_OR_RETURN(candidate.kernels, predicted(candidate.graph));
    } else {  // chosen with its kernels
      candidate.kernels = {.seconds = candidate.prediction.seconds,
                           .known_s = candidate.prediction.seconds};
    }
  }
  return before;
}

}  // namespace egret::driver
