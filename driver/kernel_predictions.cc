// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_predictions.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backends/timing/measure.h"
#include "base/hash.h"
#include "base/stop.h"
#include "driver/measure/batch_plan.h"
#include "driver/measure/interference.h"
#include "driver/measure/kernel_times.h"
#include "driver/measure/race.h"

namespace egret::driver {
namespace {

bool is_measured(const Setup& setup, const OptimizeOptions& options) {
  return setup.costs.profiled != nullptr && options.profile_time > 0 && !options.no_measure &&
         setup.engine == nullptr && !setup.predicts_by_kernels &&
         setup.backend->divide(ir::Graph(), setup.plan).ok();
}

constexpr double kMostSeconds = 2;  // of runs of a graph

struct Runner {
  const ir::Graph* graph = nullptr;
  backends::CompileOptions options{};
  std::string key{};
  std::unique_ptr<backends::ExecutablePlan> plan{};
  double seconds = 0;  // of a run; 0: not known
};

// Keys and, where the database knows them, times.
base::Status recall(const KeptTimes& kept, std::vector<Runner>& runners) {
  for (Runner& runner : runners) {
    runner.key = "turns of graph " + base::content_hash(identity_of(*runner.graph) +
                                                        identity_of(runner.options.division) +
                                                        identity_of(runner.options.layouts))
                                         .to_hex();
    if (kept.database == nullptr) continue;
    EGRET_ASSIGN_OR_RETURN(const auto entry, kept.database->find(kept.machine, runner.key));
    if (entry) runner.seconds = entry->median_s;
  }
  return base::ok();
}

// Runs in turns what is not known. A graph that cannot run stays unknown: the race says why.
base::Status run_unknown(const backends::Backend& backend, const KeptTimes& kept,
                         std::map<std::size_t, ir::Tensor> given, std::uint64_t seed,
                         std::vector<Runner>& runners) {
  std::vector<Runner*> unknown;
  std::vector<backends::ExecutablePlan*> plans;
  for (Runner& runner : runners) {
    if (runner.seconds > 0) continue;
    if (base::stop_requested()) return base::limit_hit("interrupted");
    auto plan = compile_batch(backend, *runner.graph, runner.options);
    if (!plan.ok()) continue;
    runner.plan = *std::move(plan);
    unknown.push_back(&runner);
    plans.push_back(runner.plan.get());
  }
  if (plans.empty()) return base::ok();
  if (kept.disturbed) (void)kept.disturbed();
  std::vector<double> medians;
  if (plans.size() == 1) {  // nothing runs between its runs but a sweep of the caches
    plans.clear();
    unknown.front()->plan = nullptr;
    const auto times =
        time_parts(backend, *unknown.front()->graph, unknown.front()->options, kept.seconds);
    if (times.ok()) medians.push_back(times->whole);
  } else {
    const auto count = static_cast<double>(plans.size());
    const auto timings =
        backends::measure_interleaved(plans, {.min_seconds = kept.seconds * count,
                                              .max_seconds = kMostSeconds * count,
                                              .seed = seed,
                                              .given = std::move(given),
                                              .on_device = true,
                                              .should_stop = base::stop_requested});
    if (timings.ok()) {
      for (const backends::Timing& timing : *timings) medians.push_back(timing.median_s);
    }
  }
  for (Runner& runner : runners) runner.plan = nullptr;  // the race needs their memory
  if (base::stop_requested()) return base::limit_hit("interrupted");
  const bool disturbed = kept.disturbed && kept.disturbed();
  for (std::size_t i = 0; i < medians.size(); ++i) {
    unknown[i]->seconds = medians[i];
    if (kept.database == nullptr) continue;
    EGRET_RETURN_IF_ERROR(
        kept.database->store(kept.machine, unknown[i]->key,
                             {.runs = 1, .median_s = medians[i], .disturbed = disturbed}));
  }
  return base::ok();
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
  std::vector<Runner> runners;
  runners.push_back({&original, setup.plan});
  for (const Candidate& candidate : candidates) {
    runners.push_back({&candidate.graph, setup.plan});
    runners.back().options.division = candidate.division;
    runners.back().options.layouts = candidate.layouts;
  }
  EGRET_RETURN_IF_ERROR(recall(kept, runners));
  EGRET_RETURN_IF_ERROR(run_unknown(*setup.backend, kept,
                                    ir::given_by_position(original, options.given_inputs),
                                    static_cast<std::uint64_t>(options.seed), runners));
  const auto predicted = [](const Runner& runner) {
    return KernelPrediction{.seconds = runner.seconds, .known_s = runner.seconds};
  };
  for (std::size_t i = 0; i < candidates.size(); ++i)
    candidates[i].kernels = predicted(runners[i + 1]);
  return predicted(runners[0]);
}

}  // namespace egret::driver
