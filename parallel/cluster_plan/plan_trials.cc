// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/plan_trials.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/stop.h"

namespace egret::parallel {
namespace {

constexpr int kMostFits = 5;
constexpr double kMostTasks = 6e5;  // of a step that is simulated for a plan

}  // namespace

bool PlannedStep::fits() const {
  return host_excess_bytes <= 0 &&
         std::ranges::all_of(excess_bytes, [](double bytes) { return bytes <= 0; });
}

double PlannedStep::most_bytes() const {
  return peak_bytes.empty() ? 0 : *std::ranges::max_element(peak_bytes);
}

bool better(const PlannedStep& a, const PlannedStep& b) {
  const auto key = [](const PlannedStep& step) {
    const double excess = step.fits() ? 0
                                      : std::max(step.host_excess_bytes,
                                                 *std::ranges::max_element(step.excess_bytes));
    return std::tuple(excess, step.seconds, step.frame);
  };
  return key(a) < key(b);
}

bool PlanTrials::stopped() const { return base::stop_requested() || deadline_.expired(); }

double PlanTrials::tasks(const PlanFrame& frame) const {
  const TrainingSetup& model = prices_.model();
  const bool by_layer = frame.zero >= 2 || model.overlap_gradients;
  const double pieces =
      static_cast<double>(by_layer ? model.layers : frame.pipeline * frame.virtual_stages);
  const auto micro_batches =
      static_cast<double>(model.global_batch / frame.data / frame.micro_batch);
  return pieces * micro_batches * 8;
}

bool PlanTrials::can_simulate(const PlanFrame& frame) const { return tasks(frame) <= kMostTasks; }

std::optional<StagePartition> PlanTrials::partition(const PlanFrame& frame,
                                                    const MemoryMargins& margins,
                                                    PartitionPrice price, double limit_s) const {
  ++partitions_;
  return partition_stages(prices_, frame, margins, price, limit_s);
}

std::optional<PlannedStep> PlanTrials::simulate(const PlanFrame& frame,
                                                const std::vector<ChunkLayers>& chunks) const {
  TrainingSetup setup = prices_.model();
  StepOptions options = prices_.options();
  apply(frame, setup, options);
  setup.set_chunks(chunks);
  ++simulations_;
  const auto simulation = StepSimulation::make(prices_.system(), setup, options);
  if (!simulation.ok()) return std::nullopt;
  const StepReport report = simulation->report();
  PlannedStep step;
  step.frame = frame;
  step.chunks = chunks;
  step.seconds = report.seconds;
  step.mfu = report.mfu * static_cast<double>(frame.devices()) / static_cast<double>(devices_);
  step.uses = report.seconds_by_use;
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const std::int64_t rank = simulation->program().devices[i].rank;
    step.peak_bytes.push_back(report.devices[i].peak_total_bytes);
    step.excess_bytes.push_back(report.devices[i].peak_total_bytes -
                                prices_.memory_of(frame, rank));
    step.host_bytes = std::max(step.host_bytes, report.devices[i].host_peak_bytes);
  }
  if (options.host_memory > 0)
    step.host_excess_bytes = std::max(0.0, step.host_bytes - options.host_memory);
  return step;
}

std::optional<PlannedStep> PlanTrials::fit(const PlanFrame& frame, PartitionPrice price) const {
  MemoryMargins margins(static_cast<std::size_t>(frame.pipeline), 0);
  double bound = 0;
  for (int attempt = 0; attempt < kMostFits && !stopped(); ++attempt) {
    const auto found = partition(frame, margins, price);
    if (!found) return std::nullopt;
    if (attempt == 0) bound = found->bound_s;
    std::optional<PlannedStep> step = simulate(frame, found->chunks);
    if (!step) return std::nullopt;
    step->bound_s = bound;
    if (step->fits()) return step;
    if (step->host_excess_bytes > 0) return std::nullopt;  // another division keeps as much
    for (std::size_t i = 0; i < margins.size(); ++i)
      margins[i] += std::max(0.0, step->excess_bytes[i] * 1.01);
  }
  return std::nullopt;
}

std::optional<PlannedStep> PlanTrials::smallest(const PlanFrame& frame) const {
  TrainingSetup setup = prices_.setup_of(frame);
  std::vector<ChunkLayers> chunks;
  for (const std::int64_t layers : setup.layers_of_chunks()) {
    ChunkLayers chunk;
    (prices_.allows(Recompute::kFull)        ? chunk.full
     : prices_.allows(Recompute::kSelective) ? chunk.selective
                                             : chunk.kept) = layers;
    chunks.push_back(chunk);
  }
  return simulate(frame, chunks);
}

}  // namespace egret::parallel
