// SPDX-License-Identifier: Apache-2.0
// Re-gather: a parameter that a training step reads in its forward pass and again later becomes two
// inputs. The gathered value of the first need not be kept for the second; it may be gathered
// twice. That both are the same value remains a choice (parallel/placed/placed_egraph.h).
#pragma once

#include <vector>

#include "ir/graph/graph.h"
#include "parallel/plan/pricing.h"

namespace egret::parallel {

// The graph with such inputs, whose names are added to `carried`. The forward pass is the part that
// the outputs need that are not carried: the loss.
ir::Graph with_regathers(const ir::Graph& graph, std::vector<Carried>& carried);

}  // namespace egret::parallel
