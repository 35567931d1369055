// SPDX-License-Identifier: Apache-2.0
// Parameters that a training step reads in its forward pass and again later, as two inputs: the
// value that devices gather for the one need not wait for the other, it may be gathered twice. That
// both are the same value stays a choice (parallel/placed/placed_egraph.h).
#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "parallel/plan/pricing.h"

namespace egret::parallel {

// The graph with such inputs; `carried` learns their names. The forward pass is what outputs need
// that are not carried: the loss.
ir::Graph with_second_readings(const ir::Graph& graph, std::vector<Carried>& carried);

}  // namespace egret::parallel
