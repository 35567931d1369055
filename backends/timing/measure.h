// SPDX-License-Identifier: Apache-2.0
// Timing of plans. Times are seconds of wall clock, or of a device with `on_device`.
//
// A measurement warms up, then runs at least `min_runs` times and `min_seconds`, whichever is more,
// and reports quantiles. Inputs are random from a seed and rotated over several sets, so they do
// not stay in the cache from one run to the next. A comparison of two plans must use
// measure_interleaved(): the plans take turns, and a slow second of the machine hits all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "base/random.h"
#include "base/status.h"

namespace egret::backends {

struct MeasureOptions {
  int warm_up_runs = 2;
  double warm_up_seconds = 1;  // limit of the warm-up, except for its first run
  int min_runs = 10;
  double min_seconds = 0.3;
  double max_seconds = 1e30;  // ends the measurement even before min_runs, but not before one run
  std::uint64_t seed = 1;
  std::int64_t rotate_bytes = 64 << 20;  // input sets hold this much in all; at most 8 sets
  // Values of inputs by position, in place of random ones.
  std::map<std::size_t, ir::Tensor> given{};
  // Sweep the caches before each run and touch the inputs, instead of rotating inputs
  // (backends/timing/cache_state.h): the state in the middle of a graph.
  bool sweep = false;
  int threads = 0;  // of the plans, as in CompileOptions: they are awake after a sweep
  // Device time only, without transfers.
  bool on_device = false;
  std::function<bool()> should_stop{};  // polled between runs, like max_seconds
};

// How many times as fast as another plan: the median of the ratios of paired runs, and its
// confidence interval of 95 %.
struct Gain {
  double ratio = 1;
  double low = 1;
  double high = 1;
};

struct Timing {
  double median_s = 0;
  double p10_s = 0;
  double p90_s = 0;
  double mad_s = 0;  // median absolute deviation
  int runs = 0;
  Gain gain{};  // over the first plan of an interleaved measurement
};

// Of paired runs: the ratios before / after. The interval is of order statistics and needs no
// distribution; of less than six pairs it is the whole range. 1 for no pair.
Gain gain_of(std::span<const double> before, std::span<const double> after);

// Quantiles of samples in seconds; zeros for none.
Timing summarize(std::vector<double> samples);

// Errors: what the plan reports of its first failing run; limit_hit when asked to stop before one
// run was timed.
base::Result<Timing> measure(ExecutablePlan& plan, const MeasureOptions& options);
// One Timing a plan. The plans take the same input types, and the same inputs in each round.
base::Result<std::vector<Timing>> measure_interleaved(std::span<ExecutablePlan* const> plans,
                                                      const MeasureOptions& options);

// Random inputs of a plan, from the distributions of its graph (ir/evaluate/input_draws.h).
// Integers are in [0, 10] by default, and thus serve as small indices.
std::vector<ir::Tensor> random_inputs(const ExecutablePlan& plan, base::Random random);

}  // namespace egret::backends
