// SPDX-License-Identifier: Apache-2.0
#include "backends/timing/measure.h"

#include <algorithm>
#include <cmath>

#include "backends/timing/cache_state.h"
#include "base/timer.h"

namespace egret::backends {
namespace {

constexpr int kMaxInputSets = 8;

// Linear interpolation between the two nearest order statistics.
double quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (position - static_cast<double>(low));
}

std::vector<std::vector<ir::Tensor>> make_input_sets(const ExecutablePlan& plan,
                                                     const MeasureOptions& options) {
  std::int64_t bytes = 0;
  for (const ir::TensorType& type : plan.input_types()) bytes += type.bytes();
  // With a fixed number of runs there are no more sets than runs.
  const std::int64_t most =
      options.min_seconds > 0
          ? kMaxInputSets
          : std::clamp(std::max(0, options.warm_up_runs) + options.min_runs, 1, kMaxInputSets);
  const std::int64_t sets =
      bytes == 0 || options.sweep
          ? 1
          : std::clamp<std::int64_t>((options.rotate_bytes + bytes - 1) / bytes, 1, most);
  std::vector<std::vector<ir::Tensor>> inputs;
  for (std::int64_t i = 0; i < sets; ++i) {
    inputs.push_back(
        random_inputs(plan, base::Random(options.seed).split(static_cast<std::uint64_t>(i))));
    for (const auto& [position, tensor] : options.given) {
      inputs.back()[position] = tensor;
      (void)inputs.back()[position].mutable_data();  // in memory of its own, as random ones are
    }
  }
  return inputs;
}

}  // namespace

std::vector<ir::Tensor> random_inputs(const ExecutablePlan& plan, base::Random random) {
  std::vector<ir::Tensor> inputs;
  for (std::size_t i = 0; i < plan.input_types().size(); ++i)
    inputs.push_back(ir::drawn(plan.input_types()[i], plan.input_draws()[i], random));
  return inputs;
}

Timing summarize(std::vector<double> samples) {
  Timing timing;
  if (samples.empty()) return timing;
  std::sort(samples.begin(), samples.end());
  timing.runs = static_cast<int>(samples.size());
  timing.median_s = quantile(samples, 0.5);
  timing.p10_s = quantile(samples, 0.1);
  timing.p90_s = quantile(samples, 0.9);
  // The median absolute deviation is robust against the slow outliers of a shared machine.
  for (double& sample : samples) sample = std::abs(sample - timing.median_s);
  std::sort(samples.begin(), samples.end());
  timing.mad_s = quantile(samples, 0.5);
  return timing;
}

Gain gain_of(std::span<const double> before, std::span<const double> after) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] > 0 && after[i] > 0) ratios.push_back(before[i] / after[i]);
  }
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  // The number of ratios below the true median is binomial, with this standard deviation.
  const auto n = static_cast<double>(ratios.size());
  const double below = n / 2 - 1.96 * std::sqrt(n) / 2;
  const std::size_t rank = below > 0 ? static_cast<std::size_t>(below) : 0;
  return {.ratio = quantile(ratios, 0.5),
          .low = ratios[rank],
          .high = ratios[ratios.size() - 1 - rank]};
}

// Plans take turns within each round, so that a slow phase of the machine meets all of them.
base::Result<std::vector<Timing>> measure_interleaved(std::span<ExecutablePlan* const> plans,
                                                      const MeasureOptions& options) {
  EGRET_CHECK(!plans.empty(), "nothing to measure");
  for (const ExecutablePlan* plan : plans) {
    if (plan->input_types() != plans[0]->input_types())
      return base::usage_error("models with different inputs cannot be measured together");
  }
  const auto inputs = make_input_sets(*plans[0], options);
  std::vector<std::vector<ir::Tensor>> outputs;
  for (const ExecutablePlan* plan : plans) outputs.push_back(plan->make_outputs());
  std::vector<std::vector<double>> samples(plans.size());

  const base::Stopwatch total;
  double timed_from = 0;
  int warm_up = std::max(0, options.warm_up_runs);
  // Rounds before `warm_up` are not recorded. The loop ends when min_runs and min_seconds are
  // reached, or earlier when the budget is used up and at least one timed run exists.
  for (int round = 0;; ++round) {
    if (round > 0 && round < warm_up && total.seconds() >= options.warm_up_seconds) warm_up = round;
    const int timed = round - warm_up;
    const bool out_of_budget =
        total.seconds() >= options.max_seconds || (options.should_stop && options.should_stop());
    if (timed > 0 && out_of_budget) break;
    if (options.should_stop && options.should_stop()) break;
    if (timed == 0) timed_from = total.seconds();
    if (timed >= std::max(1, options.min_runs) &&
        total.seconds() - timed_from >= options.min_seconds)
      break;
    // the budget allows one timed run, without warm-up
    if (timed < 0 && out_of_budget) round = warm_up;
    const auto& set = inputs[static_cast<std::size_t>(round) % inputs.size()];
    for (std::size_t i = 0; i < plans.size(); ++i) {
      // Alternate the direction: otherwise a plan would always run after the same neighbour.
      const std::size_t p = round % 2 == 0 ? i : plans.size() - 1 - i;
      if (options.sweep) {
        sweep_caches();
        touch(outputs[p]);
        touch(set);
        wake_threads(options.threads);
      }
      const base::Stopwatch watch;
      EGRET_RETURN_IF_ERROR(plans[p]->run_into(set, outputs[p]));
      double seconds = watch.seconds();
      if (options.on_device && plans[p]->last_device_s() > 0) seconds = plans[p]->last_device_s();
      if (round >= warm_up) samples[p].push_back(seconds);
    }
  }
  if (samples[0].empty()) return base::limit_hit("interrupted before the first run was measured");
  std::vector<Timing> timings;
  for (const std::vector<double>& sample : samples) {
    timings.push_back(summarize(sample));
    timings.back().gain = gain_of(samples[0], sample);
  }
  return timings;
}

base::Result<Timing> measure(ExecutablePlan& plan, const MeasureOptions& options) {
  ExecutablePlan* const plans[] = {&plan};
  EGRET_ASSIGN_OR_RETURN(const std::vector<Timing> timings, measure_interleaved(plans, options));
  return timings[0];
}

}  // namespace egret::backends
