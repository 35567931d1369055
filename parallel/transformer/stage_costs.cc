// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/stage_costs.h"

#include <algorithm>

#include "parallel/transformer/training_memory.h"
#include "parallel/transformer/transformer_kernels.h"

namespace egret::parallel {
namespace {

// The kernels that only make gradients of weights, by their names in transformer_kernels.cc.
bool makes_weight_gradients(const Kernel& kernel) {
  return kernel.name == "product' weight" || kernel.name == "sum of gradients";
}

ModelBlock block_of(const System& system, const TrainingSetup& setup, const KernelList& forward,
                    const KernelList& backward, double parameters, double kept_bytes) {
  KernelList inputs(system, setup.precision), weights(system, setup.precision);
  for (const Kernel& kernel : backward.kernels())
    (makes_weight_gradients(kernel) ? weights : inputs).add(kernel);
  return {forward.time(), backward.time(), inputs.time(), weights.time(), parameters, kept_bytes};
}

// The forward pass computes BLOCK after what PIECE holds, COUNT times.
void append(StagePiece& piece, const ModelBlock& block, std::int64_t count) {
  piece.forward = piece.forward.then(block.forward.times(count));
  piece.backward = block.backward.times(count).then(piece.backward);
  piece.inputs = block.inputs.times(count).then(piece.inputs);
  piece.weights = block.weights.times(count).then(piece.weights);
  piece.parameters += static_cast<double>(count) * block.parameters;
  piece.kept_bytes += static_cast<double>(count) * block.kept_bytes;
}

}  // namespace

ModelBlocks model_blocks(const System& system, const TrainingSetup& setup) {
  ModelBlocks blocks;
  TrainingSetup one = setup;
  const KernelList forward = layer_forward(system, setup);
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    one.recompute = recompute;
    const auto index = static_cast<std::size_t>(recompute);
    blocks.layer[index] = block_of(system, one, forward, layer_backward(system, one),
                                   one.layer_parameters(), layer_activation_bytes(one));
    blocks.workspace_bytes[index] =
        std::max(0.0, whole_layer_activation_bytes(one) - layer_activation_bytes(one));
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
  const std::int64_t ranks = setup.devices() / setup.pipeline;
  const bool own_output = setup.untied || stages > 1;
  std::vector<StageCosts> result;
  const std::vector<ChunkLayers> chunks = setup.chunks_by_recomputation();
  for (std::size_t s = 0; s < chunks.size(); ++s) {
    const bool first = s == 0, last = s + 1 == chunks.size();
    const std::int64_t rank = static_cast<std::int64_t>(s) % setup.pipeline;
    const ModelBlocks blocks = model_blocks(system.seen_by(rank * ranks, ranks), setup);
    StageCosts costs;
    if (first) append(costs.pieces.emplace_back(), blocks.embedding, 1);
    const std::array<std::int64_t, 3> counts = {chunks[s].kept, chunks[s].selective,
                                                chunks[s].full};
    for (std::size_t recompute = counts.size(); recompute-- > 0;) {
      if (counts[recompute] == 0) continue;
      costs.workspace_bytes = std::max(costs.workspace_bytes, blocks.workspace_bytes[recompute]);
      const std::int64_t pieces = by_layer ? counts[recompute] : 1;
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        const bool begins = costs.pieces.empty() || (by_layer && costs.layers > 0);
        StagePiece& one = begins ? costs.pieces.emplace_back() : costs.pieces.back();
        append(one, blocks.layer[recompute], counts[recompute] / pieces);
        costs.layers += counts[recompute] / pieces;
      }
    }
    if (last) {
      ModelBlock head = blocks.head;
      if (!own_output) head.parameters = 0;
      append(costs.pieces.back(), head, 1);
    }
    for (const StagePiece& piece : costs.pieces) {
      costs.parameters += piece.parameters;
      costs.kept_bytes += piece.kept_bytes;
    }
    if ((first || last) && stages > 1 && !setup.untied)
      costs.embedding_parameters = setup.embedding_parameters();
    result.push_back(std::move(costs));
  }
  return result;
}

}  // namespace egret::parallel
