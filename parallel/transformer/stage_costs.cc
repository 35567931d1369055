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

struct Backward {
  KernelTime all, inputs, weights;

  Backward() = default;
  explicit Backward(const KernelList& list, const System& system, Precision precision) {
    KernelList for_inputs(system, precision), for_weights(system, precision);
    for (const Kernel& kernel : list.kernels())
      (makes_weight_gradients(kernel) ? for_weights : for_inputs).add(kernel);
    all = list.time();
    inputs = for_inputs.time();
    weights = for_weights.time();
  }
};

// A part of the model with its time in both directions.
struct Block {
  KernelTime forward;
  Backward backward;
  double parameters = 0;
  double kept_bytes = 0;
};

// The forward pass computes BLOCK after what PIECE holds, COUNT times.
void append(StagePiece& piece, const Block& block, std::int64_t count) {
  piece.forward = piece.forward.then(block.forward.times(count));
  piece.backward = block.backward.all.times(count).then(piece.backward);
  piece.inputs = block.backward.inputs.times(count).then(piece.inputs);
  piece.weights = block.backward.weights.times(count).then(piece.weights);
  piece.parameters += static_cast<double>(count) * block.parameters;
  piece.kept_bytes += static_cast<double>(count) * block.kept_bytes;
}

}  // namespace

std::vector<StageCosts> stage_costs(const System& system, const TrainingSetup& setup,
                                    bool by_layer) {
  const double embedded = setup.embedding_parameters();
  const std::int64_t stages = setup.chunks();
  const std::int64_t ranks = setup.devices() / setup.pipeline;
  const bool own_output = setup.untied || stages > 1;
  std::vector<StageCosts> result;
  const std::vector<std::int64_t> layers = setup.layers_of_chunks();
  for (std::size_t s = 0; s < layers.size(); ++s) {
    const bool first = s == 0, last = s + 1 == layers.size();
    const std::int64_t rank = static_cast<std::int64_t>(s) % setup.pipeline;
    const System seen = system.seen_by(rank * ranks, ranks);
    const auto block = [&](const KernelList& forward, const KernelList& backward, double parameters,
                           double kept) {
      return Block{forward.time(), Backward(backward, seen, setup.precision), parameters, kept};
    };
    const Block layer = block(layer_forward(seen, setup), layer_backward(seen, setup),
                              setup.layer_parameters(), layer_activation_bytes(setup));
    StageCosts costs;
    const std::int64_t pieces = by_layer ? layers[s] : 1;
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      StagePiece& one = costs.pieces.emplace_back();
      if (first && piece == 0) {
        append(one,
               block(embedding_forward(seen, setup), embedding_backward(seen, setup), embedded,
                     embedding_activation_bytes(setup)),
               1);
      }
      append(one, layer, layers[s] / pieces);
      if (last && piece + 1 == pieces) {
        append(one,
               block(head_forward(seen, setup), head_backward(seen, setup),
                     own_output ? embedded : 0, head_activation_bytes(setup)),
               1);
      }
      costs.parameters += one.parameters;
      costs.kept_bytes += one.kept_bytes;
    }
    if ((first || last) && stages > 1 && !setup.untied) costs.embedding_parameters = embedded;
    costs.workspace_bytes =
        std::max(0.0, whole_layer_activation_bytes(setup) - layer_activation_bytes(setup));
    result.push_back(std::move(costs));
  }
  return result;
}

}  // namespace egret::parallel
