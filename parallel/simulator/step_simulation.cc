// SPDX-License-Identifier: Apache-2.0
#include "parallel/simulator/step_simulation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/random.h"
#include "base/stop.h"
#include "parallel/simulator/step_usage.h"

namespace egret::parallel {
namespace {

double peak_of(const Accelerator& device, Precision precision) {
  auto each = static_cast<std::size_t>(precision);
  while (each > 0 && device.peak_flops_per_second[each] <= 0) --each;
  return device.peak_flops_per_second[each];
}

// Of all devices of the setup.
double peak_of_all(const System& system, const TrainingSetup& setup) {
  if (system.pools.size() < 2)
    return peak_of(system.accelerator, setup.precision) * static_cast<double>(setup.devices());
  double all = 0;
  for (const StageDegrees& stage : setup.stages()) {
    const System own = system.seen_by(stage.first_device, stage.devices());
    all += peak_of(own.accelerator, setup.precision) * static_cast<double>(stage.devices());
  }
  return all;
}

double normal(base::Random& random) {  // Box and Muller
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

// The most of COUNT. Many are not drawn: the most of them exceeds x with probability
// 1 - (1 - q)^count, where one does with probability q.
double most_normal(std::int64_t count, base::Random& random) {
  constexpr std::int64_t kDrawn = 64;
  if (count <= kDrawn) {
    double most = normal(random);
    for (std::int64_t i = 1; i < count; ++i) most = std::max(most, normal(random));
    return most;
  }
  const double q = -std::expm1(std::log(1 - random.unit()) / static_cast<double>(count));
  double low = -10, high = 40;  // exceeded surely, and never
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::numbers::sqrt2) / 2 > q ? low : high) = middle;
  }
  return low;
}

// Of the slowest of COUNT ranks.
double slowest_factor(double jitter, std::int64_t count, base::Random& random) {
  return std::max(0.0, 1 + jitter * most_normal(count, random));
}

// Of the largest of COUNT independent draws from the sample.
Distribution distribution_of(std::vector<double> sample, std::int64_t count) {
  Distribution result;
  result.trials = static_cast<std::int64_t>(sample.size());
  std::sort(sample.begin(), sample.end());
  double below = 0, square = 0;
  result.p50 = result.p95 = result.most = sample.back();
  bool half = false, most = false;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double reached = std::pow(static_cast<double>(i + 1) / static_cast<double>(sample.size()),
                                    static_cast<double>(count));
    result.mean += sample[i] * (reached - below);
    square += sample[i] * sample[i] * (reached - below);
    if (!half && reached >= 0.5) result.p50 = sample[i];
    if (!most && reached >= 0.95) result.p95 = sample[i];
    half = half || reached >= 0.5;
    most = most || reached >= 0.95;
    below = reached;
  }
  result.deviation = std::sqrt(std::max(0.0, square - result.mean * result.mean));
  return result;
}

bool is_pass(StepPart part) { return part == StepPart::kForward || part == StepPart::kBackward; }

}  // namespace

StepSimulation::StepSimulation(const System& system, const TrainingSetup& setup,
                               const StepOptions& options, StepProgram program,
                               EventSimulator simulator)
    : system_name_(system.name),
      peak_flops_per_second_(peak_of_all(system, setup)),
      setup_(setup),
      options_(options),
      program_(std::move(program)),
      simulator_(std::move(simulator)) {}

base::Result<StepSimulation> StepSimulation::make(const System& system, const TrainingSetup& setup,
                                                  const StepOptions& options) {
  EGRET_ASSIGN_OR_RETURN(StepProgram program, make_step_program(system, setup, options));
  EGRET_ASSIGN_OR_RETURN(
      EventSimulator simulator,
      EventSimulator::make(std::move(program.graph), system.accelerator.overlap_slowdown));
  EGRET_RETURN_IF_ERROR(simulator.run());
  return StepSimulation(system, setup, options, std::move(program), std::move(simulator));
}

const DeviceReport& StepReport::fullest() const {
  return *std::max_element(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
    return a.peak_total_bytes < b.peak_total_bytes;
  });
}

StepReport StepSimulation::report() const {
  StepReport report;
  report.seconds = simulator_.timeline().end_s;
  report.model_flops = setup_.model_flops();
  // A forward pass is a third of a training step, or half with frozen weights.
  if (options_.forward_only) report.model_flops /= setup_.frozen ? 2 : 3;
  report.mfu = report.model_flops / report.seconds / peak_flops_per_second_;
  report.devices = device_reports(program_, simulator_, options_.fragmentation);
  for (const DeviceReport& device : report.devices) {
    for (std::size_t use = 0; use < device.seconds.size(); ++use) {
      report.seconds_by_use[use] +=
          device.seconds[use] / static_cast<double>(report.devices.size());
    }
  }
  return report;
}

base::Result<Distribution> StepSimulation::sample(base::ProgressSink* sink) {
  base::Progress progress(sink, "trials");
  const base::Random seed(static_cast<std::uint64_t>(options_.seed));
  const std::int64_t ranks = setup_.tensor * setup_.context;
  std::vector<std::pair<TaskId, TaskWork>> passes;
  for (std::size_t i = 0; i < program_.tasks.size(); ++i) {
    const SimulatedTask& task = simulator_.graph().tasks()[i];
    if (is_pass(program_.tasks[i].part) && task.effect == TaskEffect::kComputes)
      passes.emplace_back(i, task.work);
  }
  std::vector<double> seconds, slowdown(program_.devices.size());
  for (std::int64_t trial = 0; trial < options_.trials; ++trial) {
    if (base::stop_requested())
      return base::limit_hit("interrupted; the distribution is incomplete");
    if (progress.due()) {
      progress.report({{base::kItems, trial}},
                      static_cast<double>(trial) / static_cast<double>(options_.trials));
    }
    base::Random random = seed.split(static_cast<std::uint64_t>(trial));
    const double slow = 1 - std::pow(1 - options_.straggler_share, static_cast<double>(ranks));
    for (double& factor : slowdown) factor = random.chance(slow) ? options_.straggler_slowdown : 1;
    for (const auto& [id, work] : passes) {
      TaskWork drawn = work;
      drawn.seconds *= slowdown[simulator_.graph().task(id).device];
      if (options_.jitter > 0) drawn.seconds *= slowest_factor(options_.jitter, ranks, random);
      simulator_.change(id, drawn);
    }
    EGRET_RETURN_IF_ERROR(simulator_.run());
    seconds.push_back(simulator_.timeline().end_s);
  }
  for (const auto& [id, work] : passes) simulator_.change(id, work);
  EGRET_RETURN_IF_ERROR(simulator_.run());
  return distribution_of(std::move(seconds), options_.each_replica ? 1 : setup_.data);
}

base::Result<StepReport> simulate_step(const System& system, const TrainingSetup& setup,
                                       const StepOptions& options, base::ProgressSink* progress) {
  EGRET_ASSIGN_OR_RETURN(StepSimulation simulation, StepSimulation::make(system, setup, options));
  StepReport report = simulation.report();
  if (options.samples()) {
    EGRET_ASSIGN_OR_RETURN(report.distribution, simulation.sample(progress));
  }
  return report;
}

}  // namespace egret::parallel
