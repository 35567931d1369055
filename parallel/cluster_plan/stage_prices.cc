// SPDX-License-Identifier: Apache-2.0
#include "parallel/cluster_plan/stage_prices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "parallel/transformer/experts.h"
#include "parallel/transformer/stage_transfer.h"
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
  return {.forward = pass(block.forward),
          .backward = pass(block.backward),
          .inputs = pass(block.inputs),
          .weights = pass(block.weights),
          .parameters = block.parameters,
          .expert_parameters = block.expert_parameters,
          .kept_bytes = block.kept_bytes};
}

double slowness(const Accelerator& device) {
  return 1 / (device.peak(Precision::kBf16) * device.matmul_efficiency);
}

}  // namespace

// What a device keeps of a rank's parameters that all copies divide; as the function of
// training_memory.h, whose setup is too large to copy for each price.
double divided_parameters(const PlanFrame& frame, const RankPrice& rank) {
  const auto copies = static_cast<double>(frame.copies());
  const double expert_copies = copies * static_cast<double>(frame.tensor) /
                               static_cast<double>(frame.expert_parallel * frame.expert_tensor);
  const double others = (rank.parameters - rank.expert_parameters) / copies;
  return rank.expert_parameters > 0 ? others + rank.expert_parameters / expert_copies : others;
}

std::vector<ChunkLayers> chunks_of(const PlanFrame& frame, std::int64_t rank,
                                   const ChunkLayers& layers) {
  const std::int64_t v = frame.chunks_of_rank();
  std::vector<ChunkLayers> chunks;
  ChunkLayers left = layers;
  std::int64_t count = layers.all();
  for (std::int64_t k = 0; k < v; ++k) {
    // The larger chunks come last on the first rank, and first elsewhere.
    const std::int64_t rest = v - k;
    const std::int64_t size = rank == 0 ? count / rest : (count + rest - 1) / rest;
    count -= size;
    ChunkLayers chunk;
    chunk.full = std::min(size, (left.full + rest - 1) / rest);
    chunk.selective = std::min(size - chunk.full, (left.selective + rest - 1) / rest);
    chunk.kept = size - chunk.full - chunk.selective;
    if (chunk.kept > left.kept) {
      chunk.selective += chunk.kept - left.kept;
      chunk.kept = left.kept;
    }
    if (chunk.selective > left.selective) {
      chunk.full += chunk.selective - left.selective;
      chunk.selective = left.selective;
    }
    left.full -= chunk.full;
    left.selective -= chunk.selective;
    left.kept -= chunk.kept;
    chunks.push_back(chunk);
  }
  return chunks;
}

double micro_batches_in_flight(const PlanFrame& frame, std::int64_t rank, std::int64_t m) {
  const std::int64_t p = frame.pipeline, v = frame.virtual_stages;
  // One more than ranks, each in one of a rank's two stages (DeepSeek-AI, 2024, table 2).
  if (frame.two_directions()) return static_cast<double>(p + 1) / 2;
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
  const Key key{pool,
                frame.tensor,
                frame.context,
                frame.micro_batch,
                frame.sequence_parallel,
                frame.expert_parallel,
                frame.expert_tensor};
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
    for (std::size_t i = 0; i < blocks.layer.size(); ++i) {
      prices->layer.dense[i] = price_of(blocks.layer[i], launches);
      prices->layer.experts[i] = price_of(blocks.expert_layer[i], launches);
    }
    for (const std::array<ModelBlock, 3>& layer : blocks.layers) {
      std::array<BlockPrice, 3>& one = prices->layers.emplace_back();
      for (std::size_t i = 0; i < layer.size(); ++i) one[i] = price_of(layer[i], launches);
    }
    prices->layer_workspace_bytes = blocks.layer_workspace_bytes;
    prices->embedding = price_of(blocks.embedding, launches);
    prices->head = price_of(blocks.head, launches);
    prices->workspace_bytes = {blocks.workspace_bytes, blocks.expert_workspace_bytes};
    place = std::move(prices);
  }
  return *place;
}

std::size_t StagePrices::pool_of(const PlanFrame& frame, std::int64_t rank) const {
  if (system_.pools.size() < 2) return 0;
  const StageDegrees stage = frame.stage(rank);
  return system_.slowest_pool(stage.first_device, stage.devices());
}

double StagePrices::memory_of(const PlanFrame& frame, std::int64_t rank) const {
  const StageDegrees stage = frame.stage(rank);
  return system_.usable_bytes(stage.first_device, stage.devices());
}

const BlockPrices& StagePrices::blocks(const PlanFrame& frame, std::int64_t rank) const {
  // A rank's two stages may be those of different accelerators.
  if (frame.two_directions() && system_.pools.size() > 1) return fastest_blocks(frame);
  const std::size_t pool = pool_of(frame, rank);
  return frame.stages.empty() ? priced(pool, frame) : priced(pool, frame.of_stage(rank));
}

const BlockPrices& StagePrices::fastest_blocks(const PlanFrame& frame) const {
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < system_.pools.size(); ++i) {
    if (slowness(system_.pools[i].accelerator) < slowness(system_.pools[fastest].accelerator))
      fastest = i;
  }
  return priced(fastest, frame);
}

double StagePrices::transfer_s(const PlanFrame& frame, std::int64_t from, std::int64_t to,
                               std::int64_t layers) const {
  return stage_transfer(system_, setup_of(frame), from, to, layers).seconds();
}

// There are few distances: one for each tier.
std::vector<double> StagePrices::equal_transfers_s(const PlanFrame& frame,
                                                   std::int64_t layers) const {
  const TrainingSetup setup = setup_of(frame);
  std::map<std::int64_t, double> seconds;
  std::vector<double> result;
  for (std::int64_t rank = 0; rank < frame.pipeline; ++rank) {
    const std::int64_t distance =
        stage_distance(system_.fabric, frame.stage(rank), frame.stage((rank + 1) % frame.pipeline));
    const auto [found, is_new] = seconds.try_emplace(distance);
    if (is_new) found->second = equal_transfer(system_, setup, distance, layers).seconds();
    result.push_back(found->second);
  }
  return result;
}

// The receiver has as few devices, in the innermost tier that it may be in and that has room for
// one beside the sender's, and need not gather.
double StagePrices::least_transfer_s(const PlanFrame& frame, std::int64_t from, std::int64_t layers,
                                     bool near) const {
  const StageDegrees stage = frame.stage(from);
  const std::int64_t node = system_.fabric.tiers.front().devices;
  TrainingSetup setup = setup_of(frame.of_stage(from));
  setup.sequence_parallel = true;
  const std::int64_t distance = near ? stage.devices() : std::max(stage.devices(), node);
  return equal_transfer(system_, setup, distance, layers).seconds();
}

double StagePrices::receiver_gather_s(const PlanFrame& frame, std::int64_t to,
                                      std::int64_t layers) const {
  return parallel::receiver_gather_s(system_, setup_of(frame.of_stage(to)), layers);
}

bool StagePrices::exchanges_block(const PlanFrame& frame, std::int64_t rank) const {
  if (frame.zero < 2 || model_.overlap_gradients || model_.frozen) return false;
  return frame.stages.empty() ? frame.copies() > 1 : frame.of_stage(rank).copies() > 1;
}

// One or two collectives: of experts, and of all other weights.
StagePrices::Exchange StagePrices::exchange(const PlanFrame& own, CollectiveKind kind,
                                            double element, double parameters,
                                            double expert_parameters) const {
  Exchange all;
  const std::pair<double, RankGroup> parts[] = {
      {parameters - expert_parameters, {own.copies(), own.tensor}},
      {expert_parameters,
       expert_parameters > 0 ? expert_data_group(setup_of(own), own.copies()) : RankGroup{}}};
  for (const auto& [count, group] : parts) {
    if (count <= 0 || group.size == 1) continue;
    const CollectiveTime time = system_.fabric.collective(kind, element * count, group);
    all.seconds += time.seconds();
    all.wire_bytes += time.wire_bytes;
    all.bytes_per_second = std::max(all.bytes_per_second, time.bytes_per_second);
    all.tiers.insert(time.tier);
  }
  return all;
}

ExchangePrices StagePrices::exchanges(const PlanFrame& frame, std::int64_t rank) const {
  ExchangePrices prices;
  const PlanFrame own = frame.of_stage(rank);
  if (model_.frozen || !shares_weights(own)) return prices;
  const BlockPrices& one = blocks(frame, rank);
  const double embedding = one.embedding.parameters;
  const auto gradient = static_cast<double>(model_.gradient_bytes);
  const CollectiveKind reduces =
      frame.zero >= 1 ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  const auto gathers = CollectiveKind::kAllGather;
  for (const LayerKind kind : {LayerKind::kDense, LayerKind::kExperts}) {
    if (kind == LayerKind::kExperts && model_.experts == 0) continue;
    const bool experts = kind == LayerKind::kExperts;
    const BlockPrice& layer = one.layer.of(kind)[0];
    const auto of = [&](CollectiveKind collective, double element, double more) {
      return exchange(own, collective, element, layer.parameters + more, layer.expert_parameters);
    };
    const Exchange sum = of(reduces, gradient, 0), first_sum = of(reduces, gradient, embedding);
    (experts ? prices.layer_gradients_s.experts : prices.layer_gradients_s.dense) = sum.seconds;
    const bool has_embedding = model_.kind_of(0) == kind;
    if (has_embedding) prices.embedding_gradients_s = first_sum.seconds - sum.seconds;
    if (frame.zero < 3) continue;
    const Exchange all = of(gathers, 2, 0), first_all = of(gathers, 2, embedding);
    (experts ? prices.layer_weights_s.experts : prices.layer_weights_s.dense) = all.seconds;
    if (has_embedding) prices.embedding_weights_s = first_all.seconds - all.seconds;
    double rate = 0;
    std::set<std::size_t> tiers;
    for (const Exchange& each : {sum, first_sum, all, first_all}) {
      rate = std::max(rate, each.bytes_per_second);
      tiers.insert(each.tiers.begin(), each.tiers.end());
    }
    if (rate == 0 || tiers.size() > 1) continue;
    const double wire = (sum.wire_bytes + 2 * all.wire_bytes) / rate;
    (experts ? prices.layer_wire_s.experts : prices.layer_wire_s.dense) = wire;
    if (has_embedding) {
      prices.embedding_wire_s =
          std::max(0.0, (first_sum.wire_bytes + 2 * first_all.wire_bytes) / rate - wire);
    }
  }
  return prices;
}

PassPrice StagePrices::layer_passes(const PlanFrame& frame, std::int64_t rank,
                                    std::int64_t layer) const {
  const BlockPrices& all = blocks(frame, rank);
  const BlockPrice& block =
      (all.layers.empty()
           ? all.layer.of(model_.kind_of(layer))
           : all.layers[static_cast<std::size_t>(layer)])[index_of(least_recomputation())];
  return block.forward + block.backward;
}

RankPrice StagePrices::average_rank(const PlanFrame& frame) const {
  const BlockPrices& block = fastest_blocks(frame);
  const bool own = !model_.is_tied() || frame.pipeline > 1;
  RankPrice rank;
  if (!block.layers.empty()) {
    PlanFrame one = frame;
    one.pipeline = 1;
    ChunkLayers layers;
    (least_recomputation() == Recompute::kFull ? layers.full : layers.kept) = model_.layers;
    rank = price(block, one, 0, layers, 0);
    rank.parameters /= static_cast<double>(frame.pipeline);
    return rank;
  }
  rank.layers.kept = model_.layers;
  rank.layers_by_kind = {model_.layers - model_.expert_layers(), model_.expert_layers()};
  const auto dense = static_cast<double>(rank.layers_by_kind.dense);
  const auto experts = static_cast<double>(rank.layers_by_kind.experts);
  const auto p = static_cast<double>(frame.pipeline);
  const auto copies = frame.two_directions() ? 2.0 : 1.0;
  rank.parameters =
      (dense * block.layer.dense[0].parameters + experts * block.layer.experts[0].parameters +
       block.embedding.parameters + (own ? block.head.parameters : 0)) *
      copies / p;
  rank.expert_parameters = experts * block.layer.experts[0].expert_parameters * copies / p;
  const std::size_t least = index_of(least_recomputation());
  const auto all = [&](PassPrice BlockPrice::*pass) {
    return block.layer.dense[least].*pass * dense + block.layer.experts[least].*pass * experts +
           block.embedding.*pass + block.head.*pass;
  };
  rank.forward = all(&BlockPrice::forward);
  rank.backward = all(&BlockPrice::backward);
  rank.inputs = all(&BlockPrice::inputs);
  rank.weights = all(&BlockPrice::weights);
  return rank;
}

ByKind<std::array<std::int64_t, 3>> StagePrices::kinds(const PlanFrame& frame, std::int64_t rank,
                                                       const ChunkLayers& layers,
                                                       std::int64_t first) const {
  const auto by_recomputation = [](const ChunkLayers& chunk) {
    return std::array<std::int64_t, 3>{chunk.kept, chunk.selective, chunk.full};
  };
  if (model_.experts == 0) return {by_recomputation(layers), {}};
  if (model_.expert_interval == 1) return {{}, by_recomputation(layers)};
  ByKind<std::array<std::int64_t, 3>> kinds;
  const auto experts_before = [&](std::int64_t layer) { return layer / model_.expert_interval; };
  // As in stage_costs(): layers that are recomputed in full come first.
  const auto add = [&](const ChunkLayers& chunk, std::int64_t begin) {
    const std::array<std::int64_t, 3> counts = by_recomputation(chunk);
    for (std::size_t i = counts.size(); i-- > 0;) {
      const std::int64_t experts = experts_before(begin + counts[i]) - experts_before(begin);
      kinds.experts[i] += experts;
      kinds.dense[i] += counts[i] - experts;
      begin += counts[i];
    }
  };
  if (frame.chunks_of_rank() == 1) {
    add(layers, first);
    return kinds;
  }
  const std::int64_t size = layers.all() / frame.chunks_of_rank();  // equal chunks
  const std::vector<ChunkLayers> chunks = chunks_of(frame, rank, layers);
  for (std::size_t k = 0; k < chunks.size(); ++k)
    add(chunks[k], size * frame.chunk_of(rank, static_cast<std::int64_t>(k)));
  return kinds;
}

RankPrice StagePrices::price(const BlockPrices& block, const PlanFrame& frame, std::int64_t rank,
                             const ChunkLayers& layers, std::int64_t first) const {
  RankPrice result;
  result.layers = layers;
  double kept = 0, workspace = 0, gathered = 0;
  const auto add = [&](const BlockPrice& one, double count, double parameters) {
    result.forward = result.forward + one.forward * count;
    result.backward = result.backward + one.backward * count;
    result.inputs = result.inputs + one.inputs * count;
    result.weights = result.weights + one.weights * count;
    result.parameters += parameters * count;
    result.expert_parameters += one.expert_parameters * count;
    kept += one.kept_bytes * count;
  };
  result.first_layer = first;
  // Layers that are recomputed in full come first.
  std::int64_t next = first;
  for (const auto& [count, recompute] : {std::pair(layers.full, Recompute::kFull),
                                         {layers.selective, Recompute::kSelective},
                                         {layers.kept, Recompute::kNone}}) {
    if (block.layers.empty()) break;
    for (std::int64_t i = 0; i < count; ++i, ++next) {
      const auto place = static_cast<std::size_t>(next);
      const BlockPrice& one = block.layers[place][index_of(recompute)];
      add(one, 1, one.parameters);
      workspace = std::max(workspace, block.layer_workspace_bytes[place][index_of(recompute)]);
    }
  }
  const auto by_kind = block.layers.empty() ? kinds(frame, rank, layers, first)
                                            : ByKind<std::array<std::int64_t, 3>>{};
  // Experts that no other rank has are not gathered.
  const bool fetches = offloads_weights(frame.offload);
  const bool gathers_experts =
      fetches || frame.copies() * frame.tensor > frame.expert_parallel * frame.expert_tensor;
  double largest_layer = 0;  // in parameters that are gathered
  for (const LayerKind kind : {LayerKind::kDense, LayerKind::kExperts}) {
    const std::array<std::int64_t, 3>& counts = by_kind.of(kind);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      const BlockPrice& layer = block.layer.of(kind)[i];
      add(layer, static_cast<double>(counts[i]), layer.parameters);
      workspace = std::max(workspace, block.workspace_bytes.of(kind)[i]);
      result.largest_kept_bytes = std::max(result.largest_kept_bytes, layer.kept_bytes);
      largest_layer = std::max(largest_layer,
                               layer.parameters - (gathers_experts ? 0 : layer.expert_parameters));
      (kind == LayerKind::kExperts ? result.layers_by_kind.experts : result.layers_by_kind.dense) +=
          counts[i];
    }
  }
  result.layers_kept_bytes = kept;
  gathered = largest_layer *
             static_cast<double>(std::min<std::int64_t>(layers.all(), 1 + options_.prefetch));
  const bool has_embedding = rank == 0;
  const bool has_head = frame.two_directions() ? rank == 0 : rank + 1 == frame.pipeline;
  if (has_embedding) {
    add(block.embedding, 1, block.embedding.parameters);
    gathered += block.embedding.parameters;
  }
  if (has_head) {
    const bool own = !model_.is_tied() || frame.pipeline > 1;
    add(block.head, 1, own ? block.head.parameters : 0);
    if (rank > 0) gathered += block.head.parameters;
  }
  TrainingSetup state_setup;
  state_setup.frozen = model_.frozen;
  state_setup.gradient_bytes = model_.gradient_bytes;
  state_setup.optimizer_bytes = model_.optimizer_bytes;
  state_setup.wide_resnet = model_.wide_resnet;
  state_setup.precision = model_.precision;
  const StateBytes state = state_bytes(state_setup, result.parameters);
  const auto copies = static_cast<double>(frame.copies());
  double divided = copies;
  if (result.expert_parameters > 0) {
    divided = result.parameters / divided_parameters(frame, result);
  }
  const auto share = [&](std::int64_t from) { return frame.zero >= from ? divided : 1; };
  if (!fetches) result.memory_bytes = state.weights / share(3) + state.gradients / share(2);
  if (!offloads_optimizer(frame.offload)) result.memory_bytes += state.optimizer / share(1);
  if ((frame.zero == 3 && copies > 1) || fetches)
    result.memory_bytes += model_.weight_bytes() * gathered;
  // Gradients of two layers, with those of the embedding or the head beside one of them. The next
  // micro-batch's embedding comes while the last one's is still there.
  if (fetches) {
    if (has_embedding) result.memory_bytes += model_.weight_bytes() * block.embedding.parameters;
    const double ends =
        (has_embedding ? block.embedding.parameters : 0) + (has_head ? block.head.parameters : 0);
    result.memory_bytes +=
        static_cast<double>(model_.gradient_bytes) * (2 * largest_layer + ends) / share(3);
  }
  const std::int64_t micro_batches = model_.global_batch / frame.data / frame.micro_batch;
  double in_flight = micro_batches_in_flight(frame, rank, micro_batches);
  // One is computed while another one is copied.
  if (offloads_activations(frame.offload)) in_flight = std::min(in_flight, 2.0);
  // The last rank computes backward what it has just made: its layers leave while later ones are
  // computed, all but the last two.
  const bool layers_leave = offloads_activations(frame.offload) && rank + 1 == frame.pipeline &&
                            frame.virtual_stages == 1 && frame.schedule != PipelineKind::kGpipe;
  if (layers_leave)
    kept -= bytes_that_leave(block, by_kind, layers.all(), options_.bandwidth_to(frame.offload));
  result.memory_bytes += (1 + options_.fragmentation) * (kept * in_flight + workspace);
  return result;
}

// Of activations, until the last layer begins. Layers that are recomputed in full come first.
double StagePrices::bytes_that_leave(const BlockPrices& block,
                                     const ByKind<std::array<std::int64_t, 3>>& layers,
                                     std::int64_t count, double rate) const {
  const double others = std::max(0.0, static_cast<double>(count) - 2);
  const PassPrice& forward = layers.experts == std::array<std::int64_t, 3>{}
                                 ? block.layer.dense[0].forward
                                 : block.layer.experts[0].forward;
  double left_s = forward.seconds() * others * (1 + system_.accelerator.overlap_slowdown);
  double leaving = others, bytes_left = 0;
  for (std::size_t i = layers.dense.size(); i-- > 0;) {
    for (const LayerKind kind : {LayerKind::kDense, LayerKind::kExperts}) {
      const auto layers_here = static_cast<double>(layers.of(kind)[i]);
      const double bytes = block.layer.of(kind)[i].kept_bytes;
      const double each_s = bytes / rate;
      const double gone =
          std::min({leaving, layers_here, each_s > 0 ? std::floor(left_s / each_s) : leaving});
      bytes_left += gone * bytes;
      leaving -= gone;
      left_s -= gone * each_s;
      if (gone < layers_here) return bytes_left;
    }
  }
  return bytes_left;
}

std::optional<RankPrice> StagePrices::rank(const PlanFrame& whole_frame, std::int64_t rank,
                                           std::int64_t layers, double budget,
                                           std::int64_t first) const {
  const BlockPrices& block = blocks(whole_frame, rank);
  const PlanFrame frame = whole_frame.of_stage(rank);
  if (fixed_.recompute) {
    ChunkLayers all;
    (*fixed_.recompute == Recompute::kNone        ? all.kept
     : *fixed_.recompute == Recompute::kSelective ? all.selective
                                                  : all.full) = layers;
    const RankPrice only = price(block, frame, rank, all, first);
    return only.memory_bytes <= budget ? std::optional(only) : std::nullopt;
  }
  const RankPrice whole = price(block, frame, rank, {.kept = layers}, first);
  if (whole.memory_bytes <= budget) return whole;
  // Selective recomputation is worth a look only where it keeps less.
  const auto saves = [](const std::array<BlockPrice, 3>& layer) {
    return layer[1].kept_bytes < layer[0].kept_bytes;
  };
  const bool selects = saves(block.layer.dense) || saves(block.layer.experts);
  std::optional<RankPrice> best;
  for (std::int64_t full = 0; full <= layers; ++full) {
    const auto fits = [&](std::int64_t selective) {
      return price(block, frame, rank, {layers - full - selective, selective, full}, first)
                 .memory_bytes <= budget;
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
    const RankPrice one =
        price(block, frame, rank, {layers - full - selective, selective, full}, first);
    const auto seconds = [](const RankPrice& price) {
      return (price.forward + price.backward).seconds();
    };
    if (!best || seconds(one) < seconds(*best)) best = one;
    if (selective == 0) break;  // more full layers only take longer
  }
  return best;
}

double StagePrices::least_memory(const PlanFrame& whole_frame, std::int64_t rank,
                                 std::int64_t layers) const {
  const BlockPrices& block = blocks(whole_frame, rank);
  const PlanFrame frame = whole_frame.of_stage(rank);
  double least = std::numeric_limits<double>::infinity();
  for (const Recompute recompute : kRecomputations) {
    if (!allows(recompute)) continue;
    std::array<std::int64_t, 3> counts{};
    counts[index_of(recompute)] = layers;
    least = std::min(least,
                     price(block, frame, rank, {counts[0], counts[1], counts[2]}, 0).memory_bytes);
  }
  return least;
}

}  // namespace egret::parallel
