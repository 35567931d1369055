// SPDX-License-Identifier: Apache-2.0
// Reductions that compute the reduced value in the same pass, from the pointwise operators that
// make it.
#pragma once

#include <span>

#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Whether the reduction is expected to gain by that: short runs cost more than the pass over memory
// that they save.
bool may_reduce_region(const ir::Graph& graph, ir::NodeId reduction);

// Whether the nodes are pointwise operators and, as the last, a reduction of their value.
bool is_reduced_region(const ir::Graph& graph, std::span<const ir::NodeId> nodes);

}  // namespace egret::backends::cpu
