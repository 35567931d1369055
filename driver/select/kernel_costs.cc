// SPDX-License-Identifier: Apache-2.0
#include "driver/select/kernel_costs.h"

#include <vector>

#include "backends/timing/cache_state.h"
#include "base/check.h"
#include "base/timer.h"

namespace egret::driver {
namespace {

constexpr int kWarmUpRuns = 2;
constexpr int kLeastRuns = 10;
constexpr double kSeconds = 0.3;
constexpr std::size_t kSweptBytes = std::size_t{64} << 20;

std::string key_of(const backends::PlanReport::Kernel& kernel) {
  return "kernel " + kernel.signature;
}

}  // namespace

base::Result<bool> KernelCosts::known(const std::string& key) {
  if (kernels_.contains(key)) return true;
  EGRET_ASSIGN_OR_RETURN(const std::optional<cost::Entry> entry, database_.find(machine_, key));
  if (entry) kernels_[key] = {.seconds = entry->median_s, .elsewhere = true};
  return entry.has_value();
}

// Runs a profiled plan until there are enough runs and enough time, and takes a sample of each of
// its kernels in each run.
base::Status KernelCosts::time_kernels(backends::ExecutablePlan& plan, Timings& timings) const {
  const std::vector<ir::Tensor> inputs = backends::random_inputs(plan, base::Random(1));
  std::vector<ir::Tensor> outputs = plan.make_outputs();
  std::unordered_map<std::string, std::vector<double>> samples;
  double seconds = 0;
  for (int run = -kWarmUpRuns; run < kLeastRuns || seconds < kSeconds; ++run) {
    // A race's graphs run in turns, and each finds the caches full of others' weights.
    backends::sweep_caches(kSweptBytes, threads_);
    const base::Stopwatch watch;
    EGRET_RETURN_IF_ERROR(plan.run_into(inputs, outputs));
    if (run < 0) continue;
    seconds += watch.seconds();
    for (const backends::PlanReport::Kernel& kernel : plan.report().kernels)
      samples[key_of(kernel)].push_back(kernel.last_s);
  }
  for (auto& [key, of_kernel] : samples) {
    if (!kernels_.contains(key)) timings[key].push_back(backends::summarize(std::move(of_kernel)));
  }
  return base::ok();
}

// The time of a kernel is the median over the plans that contain it.
base::Status KernelCosts::keep(const Timings& timings) {
  const bool disturbed = disturbed_();
  for (const auto& [key, by_plan] : timings) {
    std::vector<double> medians;
    cost::Entry entry;
    for (const backends::Timing& timing : by_plan) {
      medians.push_back(timing.median_s);
      entry.runs += timing.runs;
    }
    entry.median_s = backends::summarize(std::move(medians)).median_s;
    entry.deviation_s = by_plan.front().mad_s;
    entry.disturbed = disturbed;
    EGRET_RETURN_IF_ERROR(database_.store(machine_, key, entry));
    kernels_[key] = {.seconds = entry.median_s, .elsewhere = by_plan.size() > 1};
  }
  return base::ok();
}

// A plan runs only if it has a kernel whose time neither the database nor an earlier plan gives.
base::Status KernelCosts::learn(std::span<backends::ExecutablePlan* const> plans) {
  (void)disturbed_();
  Timings timings;
  for (backends::ExecutablePlan* plan : plans) {
    bool is_new = false;
    for (const backends::PlanReport::Kernel& kernel : plan->report().kernels) {
      if (kernel.signature.empty())
        return base::unsupported("the backend does not report the time of each kernel");
      const std::string key = key_of(kernel);
      EGRET_ASSIGN_OR_RETURN(const bool there, known(key));
      is_new = is_new || (!there && !timings.contains(key));
    }
    if (is_new) EGRET_RETURN_IF_ERROR(time_kernels(*plan, timings));
  }
  return keep(timings);
}

// The sum of the kernels' times. The time of a kernel that only this plan contains was measured in
// this plan, so only the rest counts as predicted.
KernelPrediction KernelCosts::predict(const backends::ExecutablePlan& plan) const {
  KernelPrediction prediction;
  const backends::PlanReport report = plan.report();
  for (const backends::PlanReport::Kernel& kernel : report.kernels) {
    const auto found = kernels_.find(key_of(kernel));
    EGRET_CHECK(found != kernels_.end(), "a plan that nothing was learned from");
    const double seconds = found->second.seconds * static_cast<double>(report.slices);
    prediction.seconds += seconds;
    if (found->second.elsewhere) prediction.known_s += seconds;
  }
  return prediction;
}

}  // namespace egret::driver
