// SPDX-License-Identifier: Apache-2.0
// The prices of a pipeline rank as a function of its layers: seconds of its passes, bytes, and the
// recomputation that fits into its device's memory at the least time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "parallel/cluster_plan/plan_frame.h"
#include "parallel/system/system.h"
#include "parallel/transformer/stage_costs.h"

namespace egret::parallel {

// Seconds of the device, and of the host that issues the kernels.
struct PassPrice {
  double device_s = 0;
  double host_s = 0;

  double seconds() const { return device_s > host_s ? device_s : host_s; }
  PassPrice operator+(const PassPrice& other) const {
    return {device_s + other.device_s, host_s + other.host_s};
  }
  PassPrice operator*(double count) const { return {device_s * count, host_s * count}; }
};

struct BlockPrice {
  PassPrice forward, backward, inputs, weights;
  double parameters = 0;
  double expert_parameters = 0;  // of these, of experts
  double kept_bytes = 0;
};

// What there is of layers without and with experts.
template <typename T>
struct ByKind {
  T dense{}, experts{};
  const T& of(LayerKind kind) const { return kind == LayerKind::kExperts ? experts : dense; }
};

struct BlockPrices {
  ByKind<std::array<BlockPrice, 3>> layer;  // by Recompute
  // By layer, where all are different; then there are no others.
  std::vector<std::array<BlockPrice, 3>> layers;
  std::vector<std::array<double, 3>> layer_workspace_bytes;
  BlockPrice embedding, head;
  ByKind<std::array<double, 3>> workspace_bytes;
};

// Seconds of the exchanges of one micro-batch under ZeRO-2 and 3, and at the end of the step.
struct ExchangePrices {
  ByKind<double> layer_gradients_s, layer_weights_s;  // a reduction, a gathering of one piece
  double embedding_gradients_s = 0, embedding_weights_s = 0;
  // Both use the same links; their bytes at the faster rate of the two. 0 where experts are
  // exchanged over other links.
  ByKind<double> layer_wire_s;
  double embedding_wire_s = 0;

  // Of the layers of a rank.
  static double of(const ByKind<double>& each, const ByKind<std::int64_t>& layers) {
    return each.dense * static_cast<double>(layers.dense) +
           each.experts * static_cast<double>(layers.experts);
  }
};

struct RankPrice {
  ChunkLayers layers;
  std::int64_t first_layer = 0;
  ByKind<std::int64_t> layers_by_kind;
  PassPrice forward, backward, inputs, weights;  // of one micro-batch, all chunks
  double parameters = 0;
  double expert_parameters = 0;   // of these, of experts
  double layers_kept_bytes = 0;   // from the forward to the backward pass of one micro-batch
  double largest_kept_bytes = 0;  // of these, of the layer with the most
  double memory_bytes = 0;
};

class StagePrices {
 public:
  // OPTIONS are those that all plans share (the bandwidth of the host, recorded launches, ...).
  StagePrices(const System& system, const TrainingSetup& model, const StepOptions& options,
              const FixedChoices& fixed);

  const TrainingSetup& model() const { return model_; }
  const StepOptions& options() const { return options_; }
  const System& system() const { return system_; }
  // The model with the frame's choices.
  TrainingSetup setup_of(const PlanFrame& frame) const;

  // Thread-safe. Of the slowest accelerator among the rank's devices.
  const BlockPrices& blocks(const PlanFrame& frame, std::int64_t rank) const;
  // Of the fastest accelerator of the machine.
  const BlockPrices& fastest_blocks(const PlanFrame& frame) const;
  ExchangePrices exchanges(const PlanFrame& frame, std::int64_t rank) const;
  // Whether backward passes of a rank wait for the exchange of gradients of each micro-batch.
  bool exchanges_block(const PlanFrame& frame, std::int64_t rank) const;
  // Bytes that a rank's devices have for a step.
  double memory_of(const PlanFrame& frame, std::int64_t rank) const;
  // A message between ranks behind so many layers, seen by the sender.
  double transfer_s(const PlanFrame& frame, std::int64_t from, std::int64_t to,
                    std::int64_t layers) const;
  // By rank, where all have the same degrees: between it and the next one, of the last rank to the
  // first. Some neighbours lie in one node, others do not. O(ranks).
  std::vector<double> equal_transfers_s(const PlanFrame& frame, std::int64_t layers) const;
  // Of one message, at least, whatever the receiver's degrees are. NEAR: it may be in the sender's
  // node.
  double least_transfer_s(const PlanFrame& frame, std::int64_t from, std::int64_t layers,
                          bool near) const;
  // Of a message to the rank behind so many layers, or back to it, the part that is its own.
  double receiver_gather_s(const PlanFrame& frame, std::int64_t to, std::int64_t layers) const;
  // Between the last backward pass of the rank of the first stage and the end of the step. What
  // overlaps with that pass is left out. With OPEN, at least, whatever the other ranks are.
  double end_of_step_s(const PlanFrame& frame, const RankPrice& first, bool open = false) const;
  // Between the last backward pass of a later rank and the end of the step, at least: the sum of
  // its gradients, unless they are exchanged beside passes, and its update.
  double later_end_s(const PlanFrame& frame, const RankPrice& rank, std::int64_t index) const;
  // Of a micro-batch's weights from the host, forward and backward, or of its gradients to it,
  // whichever takes longer; 0 where weights are not offloaded.
  double weight_copies_s(const PlanFrame& own, const RankPrice& rank) const;
  // Of one micro-batch through a layer of a rank, with the least recomputation that is allowed.
  PassPrice layer_passes(const PlanFrame& frame, std::int64_t rank, std::int64_t layer) const;
  // Layers of the model from the first on, until they repeat.
  std::int64_t distinct_layers() const {
    return model_.wide_resnet > 0 ? model_.layers : model_.experts > 0 ? model_.expert_interval : 1;
  }
  // Numbers of layers before a cut that matter to its messages.
  std::int64_t distinct_cuts() const { return model_.wide_resnet > 0 ? model_.layers + 1 : 1; }
  // A rank that has the average of all parameters, and passes of all layers.
  RankPrice average_rank(const PlanFrame& frame) const;

  // A rank with LAYERS layers, from the model's layer number FIRST on if it has one chunk. It has
  // the embedding if it is the first, and the output layer if it is the last; under DualPipe, both
  // belong to the first pair of ranks. Of the numbers of layers that are recomputed, those of the
  // least time whose memory is at most BUDGET bytes; none where nothing fits. O(layers). Memory is
  // that of the simulator's schedule, except for interleaved chunks, which are taken to be equal,
  // and for offloaded activations and gathered weights, whose peak depends on time.
  std::optional<RankPrice> rank(const PlanFrame& frame, std::int64_t rank, std::int64_t layers,
                                double budget, std::int64_t first = 0) const;
  RankPrice rank_with(const PlanFrame& frame, std::int64_t rank, const ChunkLayers& layers,
                      std::int64_t first = 0) const {
    return price(blocks(frame, rank), frame.of_stage(rank), rank, layers, first);
  }
  // The least memory of it, whatever time it takes.
  double least_memory(const PlanFrame& frame, std::int64_t rank, std::int64_t layers) const;
  // Layers of the rank with the most, where all have about as many.
  std::int64_t equal_layers(const PlanFrame& frame) const {
    const std::int64_t chunks = frame.pipeline * frame.virtual_stages;
    return std::min(model_.layers, (model_.layers + chunks - 1) / chunks * frame.chunks_of_rank());
  }
  bool allows(Recompute recompute) const {
    return !fixed_.recompute || *fixed_.recompute == recompute;
  }
  Recompute least_recomputation() const {
    return allows(Recompute::kNone)        ? Recompute::kNone
           : allows(Recompute::kSelective) ? Recompute::kSelective
                                           : Recompute::kFull;
  }

 private:
  // Of gradients or weights of experts and of others, one after the other.
  struct Exchange {
    double seconds = 0, wire_bytes = 0;
    double bytes_per_second = 0;  // of the faster
    std::set<std::size_t> tiers;
  };
  // Whether several ranks hold the same weights: all of them, or those of experts only.
  bool shares_weights(const PlanFrame& own) const {
    return own.copies() > 1 ||
           (model_.experts > 0 && own.tensor > own.expert_parallel * own.expert_tensor);
  }
  using Key = std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t, bool, std::int64_t,
                         std::int64_t>;

  const BlockPrices& priced(std::size_t pool, const PlanFrame& frame) const;
  std::size_t pool_of(const PlanFrame& frame, std::int64_t rank) const;
  // OWN is a frame whose ranks are all as this one; so are those below.
  RankPrice price(const BlockPrices& block, const PlanFrame& own, std::int64_t rank,
                  const ChunkLayers& layers, std::int64_t first) const;
  // The rank's layers of each kind, by recomputation.
  ByKind<std::array<std::int64_t, 3>> kinds(const PlanFrame& frame, std::int64_t rank,
                                            const ChunkLayers& layers, std::int64_t first) const;
  double bytes_that_leave(const BlockPrices& block,
                          const ByKind<std::array<std::int64_t, 3>>& layers, std::int64_t count,
                          double rate) const;
  // Of the optimizer, with the weights that it gathers.
  double update_s(const PlanFrame& own, const Accelerator& device, const RankPrice& rank) const;
  Exchange exchange(const PlanFrame& own, CollectiveKind kind, double element, double parameters,
                    double expert_parameters) const;

  const System& system_;
  const TrainingSetup& model_;
  const StepOptions& options_;
  const FixedChoices& fixed_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::unique_ptr<const BlockPrices>> blocks_;
};

// Of a rank's parameters, what one of its devices keeps where all copies divide them.
double divided_parameters(const PlanFrame& frame, const RankPrice& rank);

// A rank's layers in its chunks, whose sizes differ by at most one. The first rank's first chunk
// has the embedding and the last rank's last chunk the output layer, so these get the fewer layers.
std::vector<ChunkLayers> chunks_of(const PlanFrame& frame, std::int64_t rank,
                                   const ChunkLayers& layers);

// Micro-batches whose activations a rank holds at a time, in its chunks together: a fraction with
// virtual stages.
double micro_batches_in_flight(const PlanFrame& frame, std::int64_t rank,
                               std::int64_t micro_batches);

}  // namespace egret::parallel
