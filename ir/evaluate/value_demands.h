// SPDX-License-Identifier: Apache-2.0
// What operators' definitions demand of the values of a graph's inputs; see
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

  // Both.
  void meet(const ValueDemand& other);
};

// One for each of graph.inputs(). Not all that is demanded is found: what several inputs must
// satisfy together, or what stands behind functions and products of them, is not.
std::vector<ValueDemand> demands_of_inputs(const Graph& graph);

}  // namespace egret::ir
