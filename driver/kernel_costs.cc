// SPDX-License-Identifier: Apache-2.0
#include "driver/kernel_costs.h"

#include <algorithm>
#include <vector>

#include "backends/measure.h"
#include "base/timer.h"

namespace egret::driver {
namespace {

constexpr int kWarmUpRuns = 2;
constexpr int kLeastRuns = 10;
constexpr double kSeconds = 0.3;

// A race's graphs run in turns, and each finds the caches full of others' weights; so it is here.
class CacheSweeper {
 public:
  void sweep() {
    for (std::size_t i = 0; i < data_.size(); i += kLine) ++data_[i];
  }

 private:
  static constexpr std::size_t kLine = 64;
  std::vector<unsigned char> data_ = std::vector<unsigned char>(std::size_t{64} << 20);
};

std::string key_of(const backends::PlanReport::Kernel& kernel) {
  return "kernel " + kernel.signature;
}

}  // namespace

base::Result<bool> KernelCosts::known(const std::string& key) {
  if (seconds_.contains(key)) return true;
  EGRET_ASSIGN_OR_RETURN(const std::optional<cost::Entry> entry, database_.find(machine_, key));
  if (entry) seconds_.emplace(key, entry->median_s);
  return entry.has_value();
}

base::Status KernelCosts::time_kernels(backends::Plan& plan) {
  const std::vector<ir::Tensor> inputs =
      backends::random_inputs(plan.input_types(), base::Random(1));
  std::vector<ir::Tensor> outputs = plan.make_outputs();
  std::unordered_map<std::string, std::vector<double>> samples;
  CacheSweeper caches;
  double seconds = 0;
  for (int run = -kWarmUpRuns; run < kLeastRuns || seconds < kSeconds; ++run) {
    caches.sweep();
    const base::Stopwatch watch;
    EGRET_RETURN_IF_ERROR(plan.run_into(inputs, outputs));
    if (run < 0) continue;
    seconds += watch.seconds();
    for (const backends::PlanReport::Kernel& kernel : plan.report().kernels)
      samples[key_of(kernel)].push_back(kernel.last_s);
  }
  for (auto& [key, of_kernel] : samples) {
    if (seconds_.contains(key)) continue;
    const backends::Timing timing = backends::summarize(std::move(of_kernel));
    const cost::Entry entry{
        .runs = timing.runs, .median_s = timing.median_s, .deviation_s = timing.mad_s};
    EGRET_RETURN_IF_ERROR(database_.store(machine_, key, entry));
    seconds_.emplace(key, entry.median_s);
  }
  return base::ok();
}

base::Result<KernelPrediction> KernelCosts::predict(backends::Plan& plan) {
  std::vector<std::string> keys;
  for (const backends::PlanReport::Kernel& kernel : plan.report().kernels) {
    if (kernel.signature.empty())
      return base::unsupported("the backend does not tell its kernels apart");
    keys.push_back(key_of(kernel));
  }
  KernelPrediction prediction;
  bool all_known = true;
  for (const std::string& key : keys) {
    EGRET_ASSIGN_OR_RETURN(const bool there, known(key));
    if (there) {
      prediction.known_s += seconds_.at(key);
    } else {
      all_known = false;
    }
  }
  if (!all_known) EGRET_RETURN_IF_ERROR(time_kernels(plan));
  for (const std::string& key : keys) prediction.seconds += seconds_.at(key);
  return prediction;
}

}  // namespace egret::driver
