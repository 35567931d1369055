// SPDX-License-Identifier: Apache-2.0
// The price of a piece of a training step on the ranks of a stage.
//
// A piece is a run of operators of the loss, in topological order. Its forward and backward pass
// are placed together, with whole values at both ends and free placements of parameters. The
// gradient of a parameter has the parameter's placement, so gradients of micro-batches add up where
// they are. Prices of pieces are added: a value between two pieces of a stage is whole, too.
//
// Equal pieces, as the layers of a transformer, are placed once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/autodiff/training_graph.h"
#include "ir/graph/graph.h"
#include "parallel/machine/cluster.h"
#include "parallel/pipeline/pipeline_schedule.h"
#include "parallel/pipeline/stage_cut.h"
#include "parallel/pipeline/staged_step.h"

namespace egret::parallel {

// Of one micro-batch, on each rank of the stage.
struct PiecePrice {
  std::array<double, 4> pass_s{};  // by PassKind
  double update_s = 0;             // once a step
  double parameter_bytes = 0;
  double kept_bytes = 0;  // from the forward pass until the backward pass
  double live_bytes = 0;  // while a pass runs, at most

  double work_s() const { return pass_s[0] + pass_s[1]; }
};

// Bytes of the parameters that a piece reads, undivided.
double whole_parameter_bytes(const StageGraph& piece, const ir::TrainingGraph& loss);

// The loss of one micro-batch.
struct SlicedLoss {
  ir::TrainingGraph loss;
  OperatorLine line;
  std::int64_t parts = 1;  // micro-batches of the whole batch
};

class PiecePrices {
 public:
  // MODEL computes the whole batch; all arguments outlive this. A placement takes at most
  // PIECE_TIME seconds.
  PiecePrices(const ir::Graph& model, const ir::TrainingOptions& training, const Cluster& machine,
              double piece_time);
  ~PiecePrices();

  // The loss of one of so many micro-batches; nullptr where the batch has no such parts.
  base::Result<const SlicedLoss*> sliced(std::int64_t parts);

  // Of the operators from BEGIN to END on RANKS, which lie along the last axis of the machine.
  base::Result<PiecePrice> price(const SlicedLoss& sliced, std::size_t begin, std::size_t end,
                                 std::int64_t ranks);

  // The forward and backward pass of the operators from BEGIN to END, made once.
  struct Piece {
    StageGraph graph;
    std::string text;  // equal for equal pieces
  };
  base::Result<const Piece*> piece(const SlicedLoss& sliced, std::size_t begin, std::size_t end);

  std::size_t placements() const { return prices_.size(); }
  // Bytes of optimizer state for a byte of parameters.
  double state_share() const { return state_share_; }

 private:
  const ir::Graph& model_;
  const ir::TrainingOptions& training_;
  const Cluster& machine_;
  const double piece_time_;
  double state_share_ = 0;
  std::map<std::int64_t, std::unique_ptr<SlicedLoss>> sliced_;
  std::map<std::tuple<std::int64_t, std::size_t, std::size_t>, Piece> pieces_;  // parts, begin, end
  std::map<std::pair<std::int64_t, std::string>, PiecePrice> prices_;           // ranks, text
};

}  // namespace egret::parallel
