// SPDX-License-Identifier: Apache-2.0
// What one rank computes in a pass of a stage, or to update its parameters: one plan of the
// backend, or, where ranks share the stage, segments and the collectives between them
// (runtime/ranks/rank_program.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "parallel/placed/placed_graph.h"
#include "runtime/mpi/messages.h"
#include "runtime/ranks/rank_program.h"

namespace egret::runtime {

// Exchanges within a group of neighbouring ranks, of which the first one has the number FIRST of
// all, through messages with this tag. Ranks of a group make the same exchanges in the same order.
// MESSAGES outlives it.
Exchange group_exchange(std::int64_t first, std::int64_t tag, Messages& messages);

class PassProgram {
 public:
  // Errors: those of the backend.
  static base::Result<std::unique_ptr<PassProgram>> of_one(const ir::Graph& graph,
                                                           const backends::Backend& backend,
                                                           const backends::CompileOptions& compile);
  // PLACE: of the rank, in the graph's mesh. GRAPH outlives the object.
  static base::Result<std::unique_ptr<PassProgram>> of_group(
      const parallel::PlacedGraph& graph, std::int64_t place, Exchange exchange,
      const backends::Backend& backend, const backends::CompileOptions& compile);

  // What this rank has of each input.
  const std::vector<ir::TensorType>& input_types() const { return input_types_; }
  // All ranks of a group call it. Errors: those of the backend, and of exchanges.
  base::Result<std::vector<ir::Tensor>> run(std::span<const ir::Tensor> inputs);

 private:
  std::vector<ir::TensorType> input_types_;
  const parallel::PlacedGraph* graph_ = nullptr;  // null: one plan computes it
  RankProgram program_;
  Exchange exchange_;
  // By graph of the program; null: without operators.
  std::vector<std::unique_ptr<backends::ExecutablePlan>> plans_;
};

}  // namespace egret::runtime
