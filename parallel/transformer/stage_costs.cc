// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/stage_costs.h"

#include <algorithm>
#include <optional>

#include "parallel/transformer/training_memory.h"
#include "parallel/transformer/transformer_kernels.h"
#include "parallel/transformer/wide_resnet.h"

namespace egret::parallel {
namespace {

// The kernels that only make gradients of weights, by their names in transformer_kernels.cc.
bool makes_weight_gradients(const Kernel& kernel) {
  return kernel.name == "product' weight" || kernel.name == "sum of gradients";
}

bool is_of(const MeasuredLayer& layer, const TrainingSetup& setup) {
  constexpr std::array kNames = {"none", "selective", "full"};
  const auto or_default = [](std::int64_t value, std::int64_t otherwise) {
    return value > 0 ? value : otherwise;
  };
  return layer.hidden == setup.hidden && layer.heads == setup.heads &&
         or_default(layer.kv_heads, layer.heads) == or_default(setup.kv_heads, setup.heads) &&
         or_default(layer.ffn, 4 * layer.hidden) == setup.ffn_size() &&
         setup.attention_size() == static_cast<double>(layer.hidden) &&
         layer.sequence == setup.sequence && layer.tensor == setup.tensor && setup.context == 1 &&
         layer.micro_batch == setup.micro_batch && layer.gated == setup.gated &&
         layer.no_dropout == setup.no_dropout && layer.flash_attention == setup.flash_attention &&
         layer.sequence_parallel == setup.sequence_parallel && !setup.overlap_tensor &&
         !setup.overlap_weights && !setup.frozen &&
         layer.recompute == kNames[static_cast<std::size_t>(setup.recompute)];
}

// Both passes keep their shares of the measured time, and the host its share of each.
void take_measured_time(ModelBlock& block, const System& system, const TrainingSetup& setup) {
  const auto measured = std::ranges::find_if(
      system.measured_layers, [&](const MeasuredLayer& layer) { return is_of(layer, setup); });
  if (measured == system.measured_layers.end()) return;
  const KernelTime both = block.forward.then(block.backward);
  const double factor = measured->seconds / std::max(both.device_s, both.host_s);
  for (KernelTime* time : {&block.forward, &block.backward, &block.inputs, &block.weights})
    *time = time->scaled(factor);
}

// The forward pass computes BLOCK after what PIECE holds, COUNT times.
template <typename Piece>
void append(Piece& piece, const ModelBlock& block, std::int64_t count) {
  if (count == 0) return;
  const auto times = static_cast<double>(count);
  piece.forward = piece.forward.then(block.forward.times(count));
  piece.backward = block.backward.times(count).then(piece.backward);
  piece.inputs = block.inputs.times(count).then(piece.inputs);
  piece.weights = block.weights.times(count).then(piece.weights);
  piece.parameters += times * block.parameters;
  piece.expert_parameters += times * block.expert_parameters;
  piece.kept_bytes += times * block.kept_bytes;
}

const ModelBlock& layer_block(const ModelBlocks& blocks, LayerKind kind, std::size_t recompute) {
  return (kind == LayerKind::kExperts ? blocks.expert_layer : blocks.layer)[recompute];
}

// Layers FIRST to FIRST + COUNT - 1, whose kinds repeat: O(interval + log count). Otherwise
// O(count).
ModelBlock layers_block(const ModelBlocks& blocks, const TrainingSetup& setup,
                        std::size_t recompute, std::int64_t first, std::int64_t count) {
  ModelBlock all;
  if (!blocks.layers.empty()) {
    for (std::int64_t layer = first; layer < first + count; ++layer)
      append(all, blocks.layers[static_cast<std::size_t>(layer)][recompute], 1);
    return all;
  }
  if (setup.experts == 0) {
    append(all, layer_block(blocks, LayerKind::kDense, recompute), count);
    return all;
  }
  const std::int64_t interval = setup.expert_interval;
  // Dense ones before the next with experts, then whole periods, then the rest.
  const std::int64_t left = interval - 1 - first % interval;
  append(all, layer_block(blocks, LayerKind::kDense, recompute), std::min(left, count));
  if (count <= left) return all;
  ModelBlock period = layer_block(blocks, LayerKind::kExperts, recompute);
  append(period, layer_block(blocks, LayerKind::kDense, recompute), interval - 1);
  const std::int64_t whole = (count - left) / interval, rest = (count - left) % interval;
  append(all, period, whole);
  if (rest > 0) append(all, layer_block(blocks, LayerKind::kExperts, recompute), 1);
  if (rest > 1) append(all, layer_block(blocks, LayerKind::kDense, recompute), rest - 1);
  return all;
}

// Kinds among layers FIRST to FIRST + COUNT - 1.
std::vector<LayerKind> kinds_of(const TrainingSetup& setup, std::int64_t first,
                                std::int64_t count) {
  const LayerKind kind = setup.kind_of(first);
  for (std::int64_t i = 1; i < std::min(count, setup.expert_interval + 1); ++i) {
    if (setup.kind_of(first + i) != kind) return {LayerKind::kDense, LayerKind::kExperts};
  }
  return {kind};
}

// Of a backward pass through these layers.
double workspace_bytes(const ModelBlocks& blocks, const TrainingSetup& setup, std::size_t recompute,
                       std::int64_t first, std::int64_t count) {
  double most = 0;
  if (!blocks.layers.empty()) {
    for (std::int64_t layer = first; layer < first + count; ++layer) {
      most =
          std::max(most, blocks.layer_workspace_bytes[static_cast<std::size_t>(layer)][recompute]);
    }
    return most;
  }
  for (const LayerKind kind : kinds_of(setup, first, count)) {
    most = std::max(most, (kind == LayerKind::kDense ? blocks.workspace_bytes
                                                     : blocks.expert_workspace_bytes)[recompute]);
  }
  return most;
}

}  // namespace

ModelBlock block_of(const System& system, const TrainingSetup& setup, const KernelList& forward,
                    const KernelList& backward, double parameters, double kept_bytes) {
  KernelList inputs(system, setup.precision), weights(system, setup.precision);
  for (const Kernel& kernel : backward.kernels())
    (makes_weight_gradients(kernel) ? weights : inputs).add(kernel);
  return {.forward = forward.time(),
          .backward = backward.time(),
          .inputs = inputs.time(),
          .weights = weights.time(),
          .parameters = parameters,
          .kept_bytes = kept_bytes};
}

ModelBlocks model_blocks(const System& system, const TrainingSetup& setup) {
  if (setup.wide_resnet > 0) return wide_resnet_blocks(system, setup);
  ModelBlocks blocks;
  TrainingSetup one = setup;
  for (const LayerKind kind : {LayerKind::kDense, LayerKind::kExperts}) {
    const bool experts = kind == LayerKind::kExperts;
    if (experts && setup.experts == 0) continue;
    const KernelList forward = layer_forward(system, setup, kind);
    for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
      one.recompute = recompute;
      const auto index = static_cast<std::size_t>(recompute);
      const double kept = layer_activation_bytes(one, kind);
      ModelBlock& block = (experts ? blocks.expert_layer : blocks.layer)[index];
      block = block_of(system, one, forward, layer_backward(system, one, kind),
                       one.layer_parameters(kind), kept);
      block.expert_parameters = one.expert_parameters(kind);
      if (!experts) take_measured_time(block, system, one);
      (experts ? blocks.expert_workspace_bytes : blocks.workspace_bytes)[index] =
          std::max(0.0, whole_layer_activation_bytes(one, kind) - kept);
    }
  }
  blocks.embedding =
      block_of(system, setup, embedding_forward(system, setup), embedding_backward(system, setup),
               setup.embedding_parameters(), embedding_activation_bytes(setup));
  blocks.head = block_of(system, setup, head_forward(system, setup), head_backward(system, setup),
                         setup.embedding_parameters(), head_activation_bytes(setup));
  return blocks;
}

std::vector<StageCosts> stage_costs(const System& system, const TrainingSetup& setup,
                                    bool by_layer) {
  const std::int64_t stages = setup.chunks();
  const std::vector<StageDegrees> ranks = setup.stages();
  const bool own_output = !setup.is_tied() || stages > 1;
  std::vector<StageCosts> result;
  const std::vector<ChunkLayers> chunks = setup.chunks_by_recomputation();
  std::int64_t layer = 0;  // of the model
  const bool all_equal = !setup.has_unlike_stages() && system.pools.size() < 2;
  std::optional<ModelBlocks> common;  // of all ranks
  if (all_equal) common = model_blocks(system, setup);
  for (std::size_t s = 0; s < chunks.size(); ++s) {
    const bool first = s == 0, last = s + 1 == chunks.size();
    const std::int64_t rank = static_cast<std::int64_t>(s) % setup.pipeline;
    const StageDegrees& own = ranks[static_cast<std::size_t>(rank)];
    std::optional<ModelBlocks> of_rank;
    if (!common) {
      of_rank = model_blocks(system.seen_by(own.first_device, own.devices()), setup.of_stage(own));
    }
    const ModelBlocks& blocks = common ? *common : *of_rank;
    StageCosts costs;
    if (first) append(costs.pieces.emplace_back(), blocks.embedding, 1);
    const std::array<std::int64_t, 3> counts = {chunks[s].kept, chunks[s].selective,
                                                chunks[s].full};
    for (std::size_t recompute = counts.size(); recompute-- > 0;) {
      if (counts[recompute] == 0) continue;
      costs.workspace_bytes =
          std::max(costs.workspace_bytes,
                   workspace_bytes(blocks, setup, recompute, layer, counts[recompute]));
      const std::int64_t pieces = by_layer ? counts[recompute] : 1;
      const std::int64_t each = counts[recompute] / pieces;
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        const bool begins = costs.pieces.empty() || (by_layer && costs.layers > 0);
        StagePiece& one = begins ? costs.pieces.emplace_back() : costs.pieces.back();
        append(one, layers_block(blocks, setup, recompute, layer, each), 1);
        costs.layers += each;
        layer += each;
      }
    }
    if (last) {
      ModelBlock head = blocks.head;
      if (!own_output) head.parameters = 0;
      append(costs.pieces.back(), head, 1);
    }
    for (const StagePiece& piece : costs.pieces) {
      costs.parameters += piece.parameters;
      costs.expert_parameters += piece.expert_parameters;
      costs.kept_bytes += piece.kept_bytes;
    }
    if ((first || last) && stages > 1 && setup.is_tied())
      costs.embedding_parameters = blocks.embedding.parameters;
    result.push_back(std::move(costs));
  }
  return result;
}

}  // namespace egret::parallel
