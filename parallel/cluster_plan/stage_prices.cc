// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/stage_prices.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parallel/transformer/stage_work.h"
#include "parallel/transformer/training_memory.h"
#include "parallel/transformer/transformer_kernels.h"

namespace egret::parallel {
namespace {

constexpr std::array<Recompute, 3> kRecomputations = {Recompute::kNone, Recompute::kSelective,
                                                      Recompute::kFull};

std::size_t index_of(Recompute recompute) { return static_cast<std::size_t>(recompute); }

BlockPrice price_of(const ModelBlock& block, bool launches_cost) {
  const auto pass = [&](const KernelTime& time) {
    return PassPrice{time.device_s, launches_cost ? time.host_s : 0};
  };
  return {pass(block.forward), pass(block.backward), pass(block.inputs),
          pass(block.weights), block.parameters,     block.kept_bytes};
}

double slowness(const Accelerator& device) {
  return 1 / (device.peak(Precision::kBf16) * device.matmul_efficiency);
}

}  // namespace

double micro_batches_in_flight(const PlanFrame& frame, std::int64_t rank, std::int64_t m) {
  const std::int64_t p = frame.pipeline, v = frame.virtual_stages;
  if (frame.schedule == PipelineKind::kGpipe) return static_cast<double>(m);
  if (frame.schedule == PipelineKind::kZbH1) return static_cast<double>(std::min(m, p));
  if (v == 1) return static_cast<double>(std::min(m, p - rank));
  const std::int64_t warm = 2 * (p - rank - 1) + (v - 1) * p + 1;
  return static_cast<double>(std::min(m * v, warm)) / static_cast<double>(v);
}

StagePrices::StagePrices(const System& system, const TrainingSetup& model,
                         const StepOptions& options, const FixedChoices& fixed)
    : system_(system), model_(model), options_(options), fixed_(fixed) {}

TrainingSetup StagePrices::setup_of(const PlanFrame& frame) const {
  TrainingSetup setup = model_;
  StepOptions options;
  apply(frame, setup, options);
  return setup;
}

const BlockPrices& StagePrices::priced(std::size_t pool, const PlanFrame& frame) const {
  const Key key{pool, frame.tensor, frame.context, frame.micro_batch, frame.sequence_parallel};
  const std::lock_guard lock(mutex_);
  std::unique_ptr<const BlockPrices>& place = blocks_[key];
  if (place == nullptr) {
    System system = system_;
    if (!system_.pools.empty()) system.accelerator = system_.pools[pool].accelerator;
    TrainingSetup setup = setup_of(frame);
    setup.data = setup.pipeline = setup.virtual_stages = 1;
    const ModelBlocks blocks = model_blocks(system, setup);
    const bool launches = !options_.recorded_launches;
    auto prices = std::make_unique<BlockPrices>();
    for (std::size_t i = 0; i < blocks.layer.size(); ++i)
      prices->layer[i] = price_of(blocks.layer[i], launches);
    prices->embedding = price_of(blocks.embedding, launches);
    prices->head = price_of(blocks.head, launches);
    prices->workspace_bytes = blocks.workspace_bytes;
    place = std::move(prices);
  }
  return *place;
}

// As System::seen_by() chooses.
std::size_t StagePrices::pool_of(const PlanFrame& frame, std::int64_t rank) const {
  if (system_.pools.size() < 2) return 0;
  const std::int64_t count = frame.devices() / frame.pipeline;
  std::optional<std::size_t> slowest;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < system_.pools.size(); ++i) {
    const AcceleratorPool& pool = system_.pools[i];
    const bool last = i + 1 == system_.pools.size() || pool.devices == 0;
    const std::int64_t end = begin + pool.devices;
    const bool holds = begin < (rank + 1) * count && (last || end > rank * count);
    if (holds &&
        (!slowest || slowness(pool.accelerator) > slowness(system_.pools[*slowest].accelerator)))
      slowest = i;
    if (last) break;
    begin = end;
  }
  return slowest.value_or(0);
}

double StagePrices::memory_of(const PlanFrame& frame, std::int64_t rank) const {
  const auto usable = [](const Accelerator& device) {
    return device.memory_bytes > 0 ? device.memory_bytes - device.reserved_bytes
                                   : std::numeric_limits<double>::infinity();
  };
  if (system_.pools.size() < 2) return usable(system_.accelerator);
  const std::int64_t count = frame.devices() / frame.pipeline;
  double least = std::numeric_limits<double>::infinity();
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < system_.pools.size(); ++i) {
    const AcceleratorPool& pool = system_.pools[i];
    const bool last = i + 1 == system_.pools.size() || pool.devices == 0;
    const std::int64_t end = begin + pool.devices;
    if (begin < (rank + 1) * count && (last || end > rank * count))
      least = std::min(least, usable(pool.accelerator));
    if (last) break;
    begin = end;
  }
  return least;
}

const BlockPrices& StagePrices::blocks(const PlanFrame& frame, std::int64_t rank) const {
  return priced(pool_of(frame, rank), frame);
}

const BlockPrices& StagePrices::fastest_blocks(const PlanFrame& frame) const {
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < system_.pools.size(); ++i) {
    if (slowness(system_.pools[i].accelerator) < slowness(system_.pools[fastest].accelerator))
      fastest = i;
  }
  return priced(fastest, frame);
}

double StagePrices::transfer_s(const PlanFrame& frame) const {
  if (frame.pipeline == 1) return 0;
  return boundary_s(system_, setup_of(frame));
}

ExchangePrices StagePrices::exchanges(const PlanFrame& frame) const {
  ExchangePrices prices;
  if (model_.frozen || frame.copies() == 1) return prices;
  const RankGroup group{frame.copies(), frame.tensor};
  const BlockPrices& one = blocks(frame, 0);
  const double layer = one.layer[0].parameters, embedding = one.embedding.parameters;
  const auto gradient = static_cast<double>(model_.gradient_bytes);
  const CollectiveKind reduces =
      frame.zero >= 1 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  const Fabric& fabric = system_.fabric;
  const auto gathers = CollectiveKind::kAllGather;
  const CollectiveTime sum = fabric.collective(reduces, gradient * layer, group);
  const CollectiveTime first_sum =
      fabric.collective(reduces, gradient * (layer + embedding), group);
  prices.layer_gradients_s = sum.seconds();
  prices.embedding_gradients_s = first_sum.seconds() - sum.seconds();
  if (frame.zero < 3) return prices;
  const CollectiveTime all = fabric.collective(gathers, 2 * layer, group);
  const CollectiveTime first_all = fabric.collective(gathers, 2 * (layer + embedding), group);
  prices.layer_weights_s = all.seconds();
  prices.embedding_weights_s = first_all.seconds() - all.seconds();
  double rate = 0;
  for (const CollectiveTime& each : {sum, first_sum, all, first_all})
    rate = std::max(rate, each.bytes_per_second);
  prices.layer_wire_s = (sum.wire_bytes + 2 * all.wire_bytes) / rate;
  prices.embedding_wire_s =
      (first_sum.wire_bytes + 2 * first_all.wire_bytes) / rate - prices.layer_wire_s;
  return prices;
}

double StagePrices::end_of_step_s(const PlanFrame& frame, double parameters, std::int64_t layers,
                                  double backward_s) const {
  const Accelerator& device = system_.accelerator;
  double seconds = device.host_seconds_per_step;
  if (model_.frozen) return seconds;
  const Fabric& fabric = system_.fabric;
  const auto gradient = static_cast<double>(model_.gradient_bytes);
  const auto copies = static_cast<double>(frame.copies());
  if (copies > 1) {
    if (exchanges_block(frame)) {
      // The backward passes include all other layers' exchanges.
      const ExchangePrices each = exchanges(frame);
      seconds += each.layer_gradients_s + each.embedding_gradients_s;
    } else if (model_.overlap_gradients || frame.zero >= 2) {
      const ExchangePrices each = exchanges(frame);
      const double first = each.layer_gradients_s + each.embedding_gradients_s;
      const double all = first + each.layer_gradients_s * static_cast<double>(layers - 1);
      seconds += std::max(first, all - backward_s);
    } else {
      seconds += fabric
                     .collective(frame.zero >= 1 ? CollectiveKind::kReduceScatter
                                                 : CollectiveKind::kAllReduce,
                                 gradient * parameters, {frame.copies(), frame.tensor})
                     .seconds();
    }
  }
  if (frame.pipeline > 1 && !model_.untied) {
    const double bytes = gradient * blocks(frame, 0).embedding.parameters;
    seconds +=
        fabric.transfer(bytes, (frame.pipeline - 1) * frame.tensor * frame.copies()).seconds();
  }
  if (frame.devices() > 1)
    seconds += fabric.collective(CollectiveKind::kAllReduce, 4, {frame.devices(), 1}).seconds();
  const double part = parameters / (frame.zero >= 1 ? copies : 1);
  if (frame.offload == Offload::kOptimizer) {
    seconds += part * ((gradient + 2) / options_.host_bandwidth +
                       (gradient + 26) / options_.host_memory_bandwidth);
  } else {
    seconds += part * (2 * gradient + 26) / (device.bytes_per_second * device.memory_efficiency);
  }
  if (frame.zero >= 1 && frame.zero < 3 && copies > 1) {
    seconds +=
        fabric
            .collective(CollectiveKind::kAllGather, 2 * parameters, {frame.copies(), frame.tensor})
            .seconds();
  }
  return seconds;
}

RankPrice StagePrices::price(const BlockPrices& block, const PlanFrame& frame, std::int64_t rank,
                             const ChunkLayers& layers) const {
  RankPrice result;
  result.layers = layers;
  double kept = 0, workspace = 0, gathered = 0;
  const auto add = [&](const BlockPrice& one, double count, double parameters) {
    result.forward = result.forward + one.forward * count;
    result.backward = result.backward + one.backward * count;
    result.inputs = result.inputs + one.inputs * count;
    result.weights = result.weights + one.weights * count;
    result.parameters += parameters * count;
    kept += one.kept_bytes * count;
  };
  const std::array<std::int64_t, 3> counts = {layers.kept, layers.selective, layers.full};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    add(block.layer[i], static_cast<double>(counts[i]), block.layer[i].parameters);
    workspace = std::max(workspace, block.workspace_bytes[i]);
  }
  const double layer = block.layer[0].parameters;
  gathered =
      layer * static_cast<double>(std::min<std::int64_t>(layers.all(), 1 + options_.prefetch));
  if (rank == 0) {
    add(block.embedding, 1, block.embedding.parameters);
    gathered += block.embedding.parameters;
  }
  if (rank + 1 == frame.pipeline) {
    const bool own = model_.untied || frame.pipeline > 1;
    add(block.head, 1, own ? block.head.parameters : 0);
    if (rank > 0) gathered += block.head.parameters;
  }
  TrainingSetup state_setup;
  state_setup.frozen = model_.frozen;
  state_setup.gradient_bytes = model_.gradient_bytes;
  state_setup.optimizer_bytes = model_.optimizer_bytes;
  const StateBytes state = state_bytes(state_setup, result.parameters);
  const auto copies = static_cast<double>(frame.copies());
  const auto share = [&](std::int64_t from) { return frame.zero >= from ? copies : 1; };
  result.memory_bytes = state.weights / share(3) + state.gradients / share(2);
  if (frame.offload != Offload::kOptimizer) result.memory_bytes += state.optimizer / share(1);
  if (frame.zero == 3 && copies > 1) result.memory_bytes += 2 * gathered;
  const std::int64_t micro_batches = model_.global_batch / frame.data / frame.micro_batch;
  double in_flight = micro_batches_in_flight(frame, rank, micro_batches);
  // One is computed while another one is copied.
  if (frame.offload == Offload::kActivations) in_flight = std::min(in_flight, 2.0);
  // The last rank computes backward what it has just made: its layers leave while later ones are
  // computed, all but the last two.
  const bool layers_leave = frame.offload == Offload::kActivations && rank + 1 == frame.pipeline &&
                            frame.virtual_stages == 1 && frame.schedule != PipelineKind::kGpipe;
  if (layers_leave) {
    const auto all = static_cast<double>(layers.all());
    // Until the last layer begins. Layers that are recomputed in full come first.
    double left_s = block.layer[0].forward.seconds() * std::max(0.0, all - 2) *
                    (1 + system_.accelerator.overlap_slowdown);
    double leaving = std::max(0.0, all - 2);
    for (std::size_t i = counts.size(); i-- > 0;) {
      const double bytes = block.layer[i].kept_bytes;
      const double each_s = bytes / options_.host_bandwidth;
      const double gone = std::min({leaving, static_cast<double>(counts[i]),
                                    each_s > 0 ? std::floor(left_s / each_s) : leaving});
      kept -= gone * bytes;
      leaving -= gone;
      left_s -= gone * each_s;
      if (gone < static_cast<double>(counts[i])) break;
    }
  }
  result.memory_bytes += (1 + options_.fragmentation) * (kept * in_flight + workspace);
  return result;
}

std::optional<RankPrice> StagePrices::rank(const PlanFrame& frame, std::int64_t rank,
                                           std::int64_t layers, double budget) const {
  const BlockPrices& block = blocks(frame, rank);
  if (fixed_.recompute) {
    ChunkLayers all;
    (*fixed_.recompute == Recompute::kNone        ? all.kept
     : *fixed_.recompute == Recompute::kSelective ? all.selective
                                                  : all.full) = layers;
    const RankPrice only = price(block, frame, rank, all);
    return only.memory_bytes <= budget ? std::optional(only) : std::nullopt;
  }
  const RankPrice whole = price(block, frame, rank, {.kept = layers});
  if (whole.memory_bytes <= budget) return whole;
  // Selective recomputation is worth a look only where it keeps less.
  const bool selects = block.layer[1].kept_bytes < block.layer[0].kept_bytes;
  std::optional<RankPrice> best;
  for (std::int64_t full = 0; full <= layers; ++full) {
    const auto fits = [&](std::int64_t selective) {
      return price(block, frame, rank, {layers - full - selective, selective, full}).memory_bytes <=
             budget;
    };
    const std::int64_t most = selects ? layers - full : 0;
    std::int64_t selective = 0;
    if (!fits(0)) {
      if (!fits(most)) continue;
      std::int64_t low = 0, high = most;  // low does not fit, high does
      while (high - low > 1) {
        const std::int64_t middle = (low + high) / 2;
        (fits(middle) ? high : low) = middle;
      }
      selective = high;
    }
    const RankPrice one = price(block, frame, rank, {layers - full - selective, selective, full});
    const auto seconds = [](const RankPrice& price) {
      return (price.forward + price.backward).seconds();
    };
    if (!best || seconds(one) < seconds(*best)) best = one;
    if (selective == 0) break;  // more full layers only take longer
  }
  return best;
}

double StagePrices::least_memory(const PlanFrame& frame, std::int64_t rank,
                                 std::int64_t layers) const {
  const BlockPrices& block = blocks(frame, rank);
  double least = std::numeric_limits<double>::infinity();
  for (const Recompute recompute : kRecomputations) {
    if (!allows(recompute)) continue;
    std::array<std::int64_t, 3> counts{};
    counts[index_of(recompute)] = layers;
    least =
        std::min(least, price(block, frame, rank, {counts[0], counts[1], counts[2]}).memory_bytes);
  }
  return least;
}

}  // namespace egret::parallel
