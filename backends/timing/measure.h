// SPDX-License-Identifier: Apache-2.0
// Timing of plans. All times are seconds of wall clock, or of a device's where that is asked for.
//
// A measurement warms up, then runs at least `min_runs` times and `min_seconds`, whichever is more,
// and reports quantiles. Inputs are random from a seed and rotated over enough sets that they do
// not stay in the cache from one run to the next. "Is B slower than A" is asked of
// measure_interleaved() alone: the plans take turns, so that a slow second of the machine hits them
// alike.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "base/random.h"
#include "base/status.h"

namespace egret::backends {

struct MeasureOptions {
  int warm_up_runs = 2;
  double warm_up_seconds = 1;  // after which there is no more warm-up, but for the first run
  int min_runs = 10;
  double min_seconds = 0.3;
  double max_seconds = 1e30;  // ends the measurement even before min_runs, but not before one run
  std::uint64_t seed = 1;
  std::int64_t rotate_bytes = 64 << 20;  // input sets hold this much in all; at most 8 sets
  // Not the inputs are rotated, but caches are swept before each run and the inputs touched after
  // that (backends/timing/cache_state.h): so a kernel finds them in the middle of a graph.
  bool sweep = false;
  // Of a plan that runs on a device, what that computes, without what comes and goes.
  bool on_device = false;
  std::function<bool()> should_stop{};  // polled between runs, like max_seconds
};

struct Timing {
  double median_s = 0;
  double p10_s = 0;
  double p90_s = 0;
  double mad_s = 0;  // median absolute deviation
  int runs = 0;
};

// Quantiles of samples in seconds; zeros for none.
Timing summarize(std::vector<double> samples);

// Errors: what the plan reports of its first failing run; limit_hit when asked to stop before one
// run was timed.
base::Result<Timing> measure(Plan& plan, const MeasureOptions& options);
// One Timing a plan. The plans take the same input types, and the same inputs in each round.
base::Result<std::vector<Timing>> measure_interleaved(std::span<Plan* const> plans,
                                                      const MeasureOptions& options);

// Random inputs of a plan, as its graph wants them (ir/evaluate/input_draws.h); integers are in [0,
// 10] otherwise and so serve as small indices.
std::vector<ir::Tensor> random_inputs(const Plan& plan, base::Random random);

}  // namespace egret::backends
