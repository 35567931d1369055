// SPDX-License-Identifier: Apache-2.0
// Demands of operators' definitions on the values of a graph's inputs; see
// ir/evaluate/input_draws.h.
#pragma once

#include <limits>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::ir {

// low <= x <= high, and x != 0 unless `zero`.
struct ValueDemand {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool zero = true;

  // Intersects the two demands.
  void meet(const ValueDemand& other);
};

// One demand for each of graph.inputs(). Incomplete: joint conditions on several inputs, and
// demands behind functions and products of inputs, are not found.
std::vector<ValueDemand> demands_of_inputs(const Graph& graph);

}  // namespace egret::ir
