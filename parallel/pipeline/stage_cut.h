// SPDX-License-Identifier: Apache-2.0
// Where the operators of a graph are cut into stages.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "cost/model.h"
#include "ir/graph/graph.h"

namespace egret::parallel {

// Operators that the outputs need, in topological order, and the values between them.
struct OperatorLine {
  explicit OperatorLine(const ir::Graph& graph);

  // Operators before POSITION whose values operators from POSITION on read, ascending.
  std::vector<ir::NodeId> crossing(std::size_t position) const;

  std::vector<ir::NodeId> operators;
  std::vector<std::size_t> last_use;  // by operator: the last position that reads it; else its own
};

// The positions at which stages begin, and the end: stage s has the operators from cuts[s] to
// cuts[s + 1]. The largest sum of a stage's times and of the time to receive what crosses its front
// is as small as possible. Errors: usage, for fewer operators than stages; those of prices.
base::Result<std::vector<std::size_t>> balanced_cuts(const ir::Graph& graph,
                                                     const OperatorLine& line, std::int64_t stages,
                                                     const cost::Rates& rates,
                                                     double link_bytes_per_second);

// The same for stages of so many of the graph's equal layers (plan/equal_layers.h), which have
// weights of their own. The first stage has what comes before the layers, too, and the last one
// what follows. Errors: usage, for a graph without equal layers, and for another number of them.
base::Result<std::vector<std::size_t>> layer_cuts(const ir::Graph& graph, const OperatorLine& line,
                                                  std::span<const std::int64_t> layers_of_stages);

// The positions at which the graph's equal layers begin and end, with the first and the last
// position; at most so many pieces lie between them, each of as many layers. Nullopt where there
// are no equal layers.
std::optional<std::vector<std::size_t>> seam_cuts(const ir::Graph& graph, const OperatorLine& line,
                                                  std::size_t most_pieces);

// The same for stages of so many operators. Errors: usage, for another number of operators.
base::Result<std::vector<std::size_t>> operator_cuts(
    const OperatorLine& line, std::span<const std::int64_t> operators_of_stages);

}  // namespace egret::parallel
