// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/stage_mix.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "base/stop.h"
#include "base/system/thread_pool.h"
#include "parallel/transformer/number_list.h"

namespace egret::parallel {
namespace {

constexpr std::size_t kMostFrames = 256;  // of a group, to try all of them

bool is_power_of_two(std::int64_t number) { return (number & (number - 1)) == 0; }

template <typename T>
bool allows(const std::optional<T>& fixed, T value) {
  return !fixed || *fixed == value;
}

}  // namespace

StageMixes::StageMixes(const StagePrices& prices, std::int64_t devices, const FixedChoices& fixed,
                       bool disks)
    : prices_(prices), fixed_(fixed), space_{prices.model(), devices, fixed, disks} {
  const System& system = prices.system();
  const std::int64_t domain = system.fabric.tiers.front().devices;
  node_ = domain > 0 ? std::min(domain, devices) : devices;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < system.pools.size() && first < devices; ++i) {
    const std::int64_t own = system.pools[i].devices;
    const bool last = i + 1 == system.pools.size() || own == 0;
    const std::int64_t count = last ? devices - first : std::min(own, devices - first);
    pools_.push_back({first, count, 0});
    first += count;
    if (last) break;
  }
  if (pools_.empty()) pools_.push_back({0, devices, 0});
  // The states of the dynamic program have a number of units of each pool.
  const std::int64_t most = pools_.size() == 1 ? kMostUnits : pools_.size() == 2 ? 16 : 8;
  std::int64_t largest = 0;
  for (const Pool& pool : pools_) largest = std::max(largest, pool.devices);
  unit_ = (largest + most - 1) / most;
  if (unit_ > node_) unit_ = (unit_ + node_ - 1) / node_ * node_;
  while (unit_ < node_ && node_ % unit_ != 0) ++unit_;
  for (Pool& pool : pools_) pool.units = pool.devices / unit_;
}

std::vector<StageDegrees> StageMixes::degrees_of(const PlanFrame& group, const Pool& pool,
                                                 std::int64_t devices) const {
  const TrainingSetup& model = prices_.model();
  std::vector<StageDegrees> result;
  for (const std::int64_t tensor : divisors(devices, devices)) {
    if (tensor > node_ || !takes_tensor_ranks(model, tensor) || !allows(fixed_.tensor, tensor))
      continue;
    for (const std::int64_t context : divisors(devices / tensor, devices)) {
      const std::int64_t data = devices / tensor / context;
      const std::int64_t parts = context * (group.sequence_parallel ? tensor : 1);  // of a sequence
      if (most_context_ranks(model) % parts != 0 || group.micro_batch % data != 0 ||
          !allows(fixed_.context, context) || !allows(fixed_.data, data) ||
          !allows(fixed_.micro_batch, group.micro_batch / data))
        continue;
      result.push_back({tensor, context, data, pool.first});
    }
  }
  return result;
}

std::vector<StageMixes::Submesh> StageMixes::submeshes(const PlanFrame& group) const {
  std::vector<Submesh> result;
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    const Pool& pool = pools_[p];
    const std::int64_t nodes = pool.devices / node_;
    for (std::int64_t units = 1; units <= pool.units; ++units) {
      const std::int64_t devices = units * unit_;
      const std::int64_t whole = devices / node_;
      const bool inside = devices < node_ && node_ % devices == 0;
      const bool regular = whole <= 8 || is_power_of_two(whole) || nodes % whole == 0;
      if (!inside && (devices % node_ != 0 || !regular)) continue;
      std::vector<StageDegrees> degrees = degrees_of(group, pool, devices);
      if (!degrees.empty()) result.push_back({p, units, std::move(degrees)});
    }
  }
  return result;
}

// The D_q devices of pool q have D_q T seconds in T seconds. Layer l takes at least w_ql of them
// for a micro-batch, with all degrees that a submesh can have. With w_q = sum_l w_ql and any
// division of the layers among pools, m sum_l min_q (w_ql / w_q) <= T sum_q (D_q / w_q).
double StageMixes::closed_bound_s(const PlanFrame& group) const {
  const std::int64_t distinct = prices_.distinct_layers();
  std::vector<std::vector<double>> least(
      pools_.size(), std::vector<double>(static_cast<std::size_t>(distinct),
                                         std::numeric_limits<double>::infinity()));
  PlanFrame frame = group;
  for (const Submesh& submesh : submeshes(group)) {
    for (const StageDegrees& degrees : submesh.degrees) {
      frame.stages = {degrees};
      for (std::int64_t layer = 0; layer < distinct; ++layer) {
        double& own = least[submesh.pool][static_cast<std::size_t>(layer)];
        own = std::min(own, static_cast<double>(degrees.devices()) *
                                prices_.layer_passes(frame, 0, layer).device_s);
      }
    }
  }
  std::vector<double> all;  // w_q
  double rate = 0;
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    all.push_back(std::accumulate(least[p].begin(), least[p].end(), 0.0));
    rate += static_cast<double>(pools_[p].devices) / all[p];
  }
  if (rate == 0) return std::numeric_limits<double>::infinity();
  double parts = 0;
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(distinct); ++layer) {
    double part = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < pools_.size(); ++p) {
      if (all[p] < std::numeric_limits<double>::infinity())
        part = std::min(part, least[p][layer] / all[p]);
    }
    parts += part;
  }
  const TrainingSetup& model = prices_.model();
  const auto micro_batches = static_cast<double>(model.global_batch / group.micro_batch);
  const auto repeated = static_cast<double>(model.layers / distinct);
  return micro_batches * repeated * parts / rate;
}

std::vector<MixedGroup> StageMixes::groups() const {
  const TrainingSetup& model = prices_.model();
  std::vector<MixedGroup> result;
  if (model.experts > 0 || !allows(fixed_.schedule, PipelineKind::k1F1B) ||
      !allows(fixed_.virtual_stages, std::int64_t{1}) || fixed_.pipeline.value_or(2) < 2 ||
      fixed_.pipeline.value_or(2) > kMostStages || model.layers < 2)
    return result;
  for (const std::int64_t micro_batch : divisors(model.global_batch, model.global_batch)) {
    for (const bool sequence : {false, true}) {
      PlanFrame frame;
      frame.micro_batch = micro_batch;
      frame.sequence_parallel = sequence;
      bool divides_tensors = false;
      for (const Submesh& submesh : submeshes(frame)) {
        divides_tensors = divides_tensors ||
                          std::ranges::any_of(submesh.degrees, [](const StageDegrees& degrees) {
                            return degrees.tensor > 1;
                          });
      }
      // Without tensor parallelism, both are the same.
      if (divides_tensors ? !allows(fixed_.sequence_parallel, sequence) : sequence) continue;
      if (sequence && model.wide_resnet > 0) continue;
      const double bound = closed_bound_s(frame);
      const std::int64_t most = model.frozen ? 0 : model.wide_resnet > 0 ? 1 : 3;
      for (std::int64_t zero = 0; zero <= most; ++zero) {
        if (!allows(fixed_.zero, zero)) continue;
        frame.zero = zero;
        for (const Offload offload : kOffloads) {
          // Stages divide unlike parts of the weights.
          if (!space_.can_offload(offload, zero, 2)) continue;
          frame.offload = offload;
          result.push_back({bound, frame});
        }
      }
    }
  }
  std::ranges::stable_sort(result, {}, &MixedGroup::bound_s);
  return result;
}

// In the order of the stages, so that neighbours share nodes. Where this leaves too many devices
// unused, whole nodes first, then parts of nodes from the largest: where sizes divide each other,
// no device is lost between them.
bool StageMixes::place(std::vector<StageDegrees>& stages) const {
  for (const Pool& pool : pools_) {
    std::vector<StageDegrees*> own;
    for (StageDegrees& stage : stages) {
      if (stage.first_device == pool.first) own.push_back(&stage);
    }
    if (place_in_order(pool, own)) continue;
    std::ranges::stable_sort(
        own, [](const auto* a, const auto* b) { return a->devices() > b->devices(); });
    if (!place_in_order(pool, own)) return false;
  }
  return true;
}

bool StageMixes::place_in_order(const Pool& pool, std::span<StageDegrees* const> stages) const {
  std::int64_t next = pool.first;
  for (StageDegrees* stage : stages) {
    const std::int64_t aligned = std::min(stage->devices(), node_);
    next = (next + aligned - 1) / aligned * aligned;
    stage->first_device = next;
    next += stage->devices();
  }
  return next <= pool.first + pool.devices;
}

std::optional<MixSolver::Answer> StageMixes::answer_of(const PlanFrame& group,
                                                       const std::vector<Submesh>& meshes,
                                                       double limit_s, bool only_passes) const {
  MixSolver solver(prices_, group, fixed_.pipeline.value_or(0), limit_s, kMostStages, only_passes);
  solver.set_node(std::max<std::int64_t>(1, node_ / unit_));
  for (const Pool& pool : pools_) solver.add_pool(pool.units);
  for (const Submesh& mesh : meshes) solver.add_submesh(mesh.pool, mesh.units, mesh.degrees);
  return solver.solve();
}

void StageMixes::raise_bounds(std::vector<MixedGroup>& groups, double limit_s) const {
  std::map<std::pair<std::int64_t, bool>, double> bounds;
  const auto key = [](const PlanFrame& frame) {
    return std::pair(frame.micro_batch, frame.sequence_parallel);
  };
  std::vector<PlanFrame> frames;
  for (const MixedGroup& group : groups) {
    if (group.bound_s >= limit_s || !bounds.try_emplace(key(group.frame), 0).second) continue;
    PlanFrame& frame = frames.emplace_back(group.frame);
    frame.zero = 0;
    frame.offload = Offload::kNone;
  }
  std::vector<double> found(frames.size(), 0);
  base::shared_pool().parallel_for(frames.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && !base::stop_requested(); ++i) {
      const auto answer = answer_of(frames[i], submeshes(frames[i]), limit_s, /*only_passes=*/true);
      found[i] = answer ? answer->bound_s : std::numeric_limits<double>::infinity();
    }
  });
  for (std::size_t i = 0; i < frames.size(); ++i) bounds[key(frames[i])] = found[i];
  for (MixedGroup& group : groups) {
    const auto bound = bounds.find(key(group.frame));
    if (bound != bounds.end()) group.bound_s = std::max(group.bound_s, bound->second);
  }
  std::ranges::stable_sort(groups, {}, &MixedGroup::bound_s);
}

std::optional<MixedPlans> StageMixes::solve(const PlanFrame& group, double limit_s) const {
  const std::vector<Submesh> meshes = submeshes(group);
  if (meshes.empty()) return std::nullopt;
  const auto answer = answer_of(group, meshes, limit_s, /*only_passes=*/false);
  if (!answer) return std::nullopt;
  MixedPlans plans{.bound_s = answer->bound_s};
  if (auto all = all_frames(group, meshes)) {
    plans.frames = *std::move(all);
    return plans;
  }
  for (const std::vector<StageDegrees>& found : answer->stages) {
    if (auto frame = frame_of(group, found)) plans.frames.push_back(*std::move(frame));
  }
  return plans;
}

std::optional<PlanFrame> StageMixes::frame_of(const PlanFrame& group,
                                              const std::vector<StageDegrees>& stages) const {
  const bool equal = std::ranges::adjacent_find(stages, std::not_equal_to<>()) == stages.end();
  if (equal && pools_.size() == 1) return std::nullopt;
  PlanFrame frame = group;
  frame.stages = stages;
  frame.pipeline = static_cast<std::int64_t>(stages.size());
  if (!place(frame.stages)) return std::nullopt;
  return frame;
}

std::optional<std::vector<PlanFrame>> StageMixes::all_frames(
    const PlanFrame& group, const std::vector<Submesh>& meshes) const {
  const std::int64_t most = std::min(prices_.model().layers, fixed_.pipeline.value_or(kMostStages));
  std::vector<std::int64_t> left;
  for (const Pool& pool : pools_) left.push_back(pool.units);
  std::vector<StageDegrees> stages;
  std::vector<PlanFrame> result;
  std::size_t seen = 0;
  // Depth is at most kMostStages.
  const auto extend = [&](const auto& self) -> void {
    const auto count = static_cast<std::int64_t>(stages.size());
    if (count >= 2 && (!fixed_.pipeline || count == *fixed_.pipeline)) {
      if (auto frame = frame_of(group, stages)) result.push_back(*std::move(frame));
    }
    if (count == most) return;
    for (const Submesh& mesh : meshes) {
      if (mesh.units > left[mesh.pool]) continue;
      left[mesh.pool] -= mesh.units;
      for (const StageDegrees& degrees : mesh.degrees) {
        if (++seen > kMostFrames) break;
        stages.push_back(degrees);
        self(self);
        stages.pop_back();
      }
      left[mesh.pool] += mesh.units;
    }
  };
  extend(extend);
  if (seen > kMostFrames) return std::nullopt;
  return result;
}

}  // namespace egret::parallel
