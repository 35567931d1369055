// SPDX-License-Identifier: Apache-2.0
// The division of a line of pieces into the stages of a pipeline, and of ranks among the stages.
//
// With stages of work w_s = F_s + B_s and m micro-batches, a step of 1F1B takes at least
//
//   sum_s w_s + (m - 1) max_s w_s + the messages of one micro-batch both ways
//
// Under a bottleneck max_s w_s, the least sum is the best. A dynamic program over stages, pieces
// and ranks finds it, for each bottleneck that occurs (Zheng et al., "Alpa", 2022, which leaves out
// the messages).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace egret::parallel {

struct PieceTerms {
  double work_s = 0;       // forward and backward pass of one micro-batch
  double received_s = 0;   // messages over its front boundary, both ways
  double fixed_bytes = 0;  // parameters, gradients, state
  double kept_bytes = 0;   // of one micro-batch
  double live_bytes = 0;   // while a pass runs
};

// Stages may have so many ranks, on which pieces have these terms.
struct StageRanks {
  std::int64_t ranks = 1;
  std::vector<PieceTerms> pieces;
};

struct DivisionTask {
  std::span<const StageRanks> choices;  // at least one, all with the same pieces
  std::int64_t ranks = 1;               // all are used
  std::int64_t ranks_of_node = 0;       // a stage lies in one node; 0: all ranks are one
  std::int64_t micro_batches = 1;
  std::vector<double> in_flight;  // micro-batches that each stage keeps at most; a stage for each
  double memory = 0;              // of a rank; 0: not limited
};

struct PieceDivision {
  std::vector<std::size_t> ends;     // of stages, in pieces
  std::vector<std::size_t> choices;  // of stages
  double seconds = 0;                // the sum above
};

// The best divisions under different bottlenecks, at most so many, the best first. Empty where none
// fits. With more than kMostBottlenecks, bottlenecks within a hundredth count once, and the result
// is as close to the best. O(bottlenecks x stages x pieces^2 x ranks x choices).
inline constexpr std::size_t kMostBottlenecks = 256;
std::vector<PieceDivision> divisions(const DivisionTask& task, std::size_t most);

}  // namespace egret::parallel
