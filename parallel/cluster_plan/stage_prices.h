// SPDX-License-Identifier: Apache-2.0
// The prices of a pipeline rank as a function of its layers: seconds of its passes, bytes, and the
// recomputation that fits into its device's memory at the least time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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
  double kept_bytes = 0;
};

struct BlockPrices {
  std::array<BlockPrice, 3> layer;  // by Recompute
  BlockPrice embedding, head;
  std::array<double, 3> workspace_bytes{};
};

// Seconds of the exchanges of one micro-batch under ZeRO-2 and 3, and at the end of the step.
struct ExchangePrices {
  double layer_gradients_s = 0, embedding_gradients_s = 0;  // a reduction of one piece
  double layer_weights_s = 0, embedding_weights_s = 0;      // a gathering of one piece
  // Both use the same links; their bytes at the faster rate of the two.
  double layer_wire_s = 0, embedding_wire_s = 0;
};

struct RankPrice {
  ChunkLayers layers;
  PassPrice forward, backward, inputs, weights;  // of one micro-batch, all chunks
  double parameters = 0;
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
  ExchangePrices exchanges(const PlanFrame& frame) const;
  // Whether backward passes wait for the exchange of gradients of each micro-batch.
  bool exchanges_block(const PlanFrame& frame) const {
    return frame.zero >= 2 && frame.copies() > 1 && !model_.overlap_gradients && !model_.frozen;
  }
  // Bytes that a rank's devices have for a step.
  double memory_of(const PlanFrame& frame, std::int64_t rank) const;
  // A message between neighbouring stages, seen by the sender.
  double transfer_s(const PlanFrame& frame) const;
  // Between the last backward pass of the first stage and the end of the step, with so many
  // parameters on that stage. What overlaps with that pass (of BACKWARD_S) is left out.
  double end_of_step_s(const PlanFrame& frame, double parameters, std::int64_t layers,
                       double backward_s) const;

  // A rank with LAYERS layers, the embedding if it is the first, and the output layer if it is the
  // last. Of the numbers of layers that are recomputed, those of the least time whose memory is at
  // most BUDGET bytes; none where nothing fits. O(layers). Memory is that of the simulator's
  // schedule, except for interleaved chunks, which are taken to be equal, and for offloaded
  // activations and gathered weights, whose peak depends on time.
  std::optional<RankPrice> rank(const PlanFrame& frame, std::int64_t rank, std::int64_t layers,
                                double budget) const;
  RankPrice rank_with(const PlanFrame& frame, std::int64_t rank, const ChunkLayers& layers) const {
    return price(blocks(frame, rank), frame, rank, layers);
  }
  // The least memory of it, whatever time it takes.
  double least_memory(const PlanFrame& frame, std::int64_t rank, std::int64_t layers) const;
  bool allows(Recompute recompute) const {
    return !fixed_.recompute || *fixed_.recompute == recompute;
  }

 private:
  using Key = std::tuple<std::size_t, std::int64_t, std::int64_t, std::int64_t, bool>;

  const BlockPrices& priced(std::size_t pool, const PlanFrame& frame) const;
  std::size_t pool_of(const PlanFrame& frame, std::int64_t rank) const;
  RankPrice price(const BlockPrices& block, const PlanFrame& frame, std::int64_t rank,
                  const ChunkLayers& layers) const;

  const System& system_;
  const TrainingSetup& model_;
  const StepOptions& options_;
  const FixedChoices& fixed_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::unique_ptr<const BlockPrices>> blocks_;
};

// Micro-batches whose activations a rank holds at a time, in its chunks together: a fraction with
// virtual stages.
double micro_batches_in_flight(const PlanFrame& frame, std::int64_t rank,
                               std::int64_t micro_batches);

}  // namespace egret::parallel
