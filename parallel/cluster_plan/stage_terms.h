// SPDX-License-Identifier: Apache-2.0
// What a pipeline rank adds to the lower bound of a step (stage_partition.h): a sum over ranks, and
// a bottleneck of which the most counts.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/cluster_plan/stage_prices.h"

namespace egret::parallel {

struct PartitionTerms {
  double sum = 0;         // h
  double bottleneck = 0;  // g
  // Of a rank with others before it: the step takes at least this more than the sums of the ranks
  // after it. 0 where chunks of other ranks come between its passes.
  double end = 0;
};

// What plans the layers. kOpen is kBound where the degrees of the other ranks are not known; kEqual
// is kBound where all chunks have the same number of layers.
enum class PartitionPrice : unsigned char { kBound, kAlpa, kOpen, kEqual };

// Under kOpen: whether the next stage and the one before may lie in this one's node.
struct NearStages {
  bool next = true, before = true;
};

class StageTerms {
 public:
  StageTerms(const StagePrices& prices, const PlanFrame& frame, PartitionPrice price,
             NearStages near = {});
  // Of a frame whose ranks send and exchange what those of another one do.
  StageTerms(const StageTerms& like, const PlanFrame& frame);

  // Ranks whose layers are chosen. Under DualPipe, ranks r and p - 1 - r hold the same two stages,
  // and do the same work.
  std::int64_t ranks() const { return frame_.pipeline / (frame_.two_directions() ? 2 : 1); }
  std::int64_t least_layers() const;  // of such a rank
  std::int64_t most_layers() const;
  // Numbers of layers before a rank that matter to it: its layers' kinds repeat.
  std::int64_t phases() const;
  // What is paid once, whatever the layers are.
  double constant_s() const;
  PartitionTerms of(const RankPrice& rank, std::int64_t index) const;

 private:
  // Sends between a rank and its neighbours, and exchanges of its weights.
  struct Traffic {
    // Of a message to the next rank, and to the one before, by the number of layers before the cut;
    // one where all are equal. Where all ranks have the same degrees, the first follows the last.
    std::vector<double> forward_s, backward_s;
    // Under kOpen, what this rank adds to a message that it gets behind so many layers.
    std::vector<double> gather_s = {};
    ExchangePrices exchanges;
  };
  // Seconds, of a cut behind so many layers.
  static double at(const std::vector<double>& seconds, std::int64_t layers) {
    if (seconds.empty()) return 0;
    return seconds[seconds.size() == 1 ? 0 : static_cast<std::size_t>(layers)];
  }
  // Of one micro-batch through a rank, in seconds.
  struct Passes {
    bool first, last;
    double forward_s, backward_s;          // messages to the next rank, and to the one before
    double forward_sends, backward_sends;  // those that the passes wait for
    // Exchanges that the passes making gradients of weights wait for, of all layers but the last.
    double waits;
    double forward, backward;  // with what they wait for
  };
  // What a schedule makes of a rank's passes, in seconds.
  struct Schedule {
    double sum = 0, bottleneck = 0;
    // Of the bottleneck without arrivals, what the device computes, and what it waits at least.
    double computed = 0, waited = 0;
    double host = 0;  // a bottleneck of its own
    // From the rank's first backward pass on: that pass, and what follows it in all of its passes.
    // Not of interleaved stages.
    double returning = 0, later_passes = 0;
  };

  const Traffic& traffic(std::int64_t index) const {
    return traffic_[traffic_.size() == 1 ? 0 : static_cast<std::size_t>(index)];
  }
  Traffic traffic_of(std::int64_t index) const;
  std::vector<Traffic> equal_traffic() const;
  double neighbours_s() const;
  double around_s() const;
  bool has_equal_chunks() const;
  bool sends_are_in_sums() const;
  PartitionTerms both_directions(const RankPrice& rank, std::int64_t index) const;
  double most_forward_s(const BlockPrices& block, double layers) const;
  double least_backward_s(const BlockPrices& block, double layers) const;
  double layers_with_experts(double layers, bool at_most) const;
  PartitionTerms alpa(const RankPrice& rank, std::int64_t index) const;
  Passes passes_of(const RankPrice& rank, std::int64_t index) const;
  Schedule scheduled(const RankPrice& rank, std::int64_t index, const Passes& passes) const;
  Schedule zero_bubble(const RankPrice& rank, std::int64_t index, const Passes& passes) const;
  Schedule one_stage(const RankPrice& rank, std::int64_t index, const Passes& passes) const;
  Schedule interleaved(const RankPrice& rank, std::int64_t index, double waits) const;
  double least_bottleneck_s(const RankPrice& rank, std::int64_t index,
                            const Schedule& schedule) const;
  double sends_s(const RankPrice& rank, std::int64_t index, const Passes& passes) const;
  double end_s(const RankPrice& rank, std::int64_t index, const Passes& passes,
               const Schedule& schedule, const PartitionTerms& terms) const;
  double last_chain_s(const RankPrice& rank, std::int64_t index, double once, double waits) const;
  static double of_rank(const ByKind<double>& layer, double embedding, const RankPrice& rank,
                        std::int64_t index);
  // Of one micro-batch's gradients, summed over copies under ZeRO-2 and 3.
  double gradients_s(const RankPrice& rank, std::int64_t index) const;
  double exchange_s(const RankPrice& rank, std::int64_t index) const;
  double arrivals_s(const RankPrice& rank, std::int64_t index) const;
  double blocking_exchanges_s(const RankPrice& rank, std::int64_t index) const;
  double copies_s(const RankPrice& rank, std::int64_t index) const;

  const StagePrices& prices_;
  const PlanFrame& frame_;
  const PartitionPrice price_;
  const NearStages near_;
  const double m_, p_, v_;
  const bool blocking_;
  const double slowdown_;
  std::vector<Traffic> traffic_;       // by rank; one where the other ranks do not matter
  std::int64_t least_ = 1, most_ = 1;  // layers of a chunk
};

}  // namespace egret::parallel
