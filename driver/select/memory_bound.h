// SPDX-License-Identifier: Apache-2.0
// What every graph of an e-graph takes of a backend's arena, whatever else is chosen.
//
// While a kernel of its own computes an operator (Backend::computes_apart), one input and its
// output are there, apart from each other. A value takes its bytes of the arena, unless it is a
// view of what takes less: of a graph's input, of weights, of what is repeated; or it may lie where
// an output of the graph does, which no larger one can. A graph needs a node of each class that it
// reaches, so the largest of its nodes is at least what the cheapest way down to the leaves has,
// cheapest by the largest of its nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/backend.h"
#include "egraph/core/view.h"
#include "rules/tensors/tensor_egraph.h"

namespace egret::driver {

// By node: bytes of the arena that a plan of a graph with this node takes at least. O(nodes) in
// practice.
std::vector<std::int64_t> held_bytes(const rules::TensorEGraph& tensors,
                                     const egraph::EGraphView& view,
                                     const backends::Backend& backend);

// The least that any graph's plan takes: of its nodes' bytes the largest. O(nodes log nodes).
std::int64_t least_arena(const egraph::EGraphView& view, const std::vector<std::int64_t>& held);

}  // namespace egret::driver
