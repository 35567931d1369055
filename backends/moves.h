// SPDX-License-Identifier: Apache-2.0
// Operators that only move values, or not even that, taken out of a graph: transposes that pass the
// operators behind them and meet, identities, and casts to the type that a value has.
//
// Models that keep channels last, written for operators that keep them first, have a transpose in
// front of each convolution and one behind it, with pointwise operators between. A transpose of a
// row-major value is a view, but not one of channels in blocks, and no pointwise operator behind it
// joins the convolution's kernel. A cast that changes nothing separates them as well.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::backends {

// Whether the node is a pointwise operator.
using IsPointwise = std::function<bool(const ir::Graph&, ir::NodeId)>;

struct WithoutMoves {
  ir::Graph graph;                 // dead nodes included
  std::vector<ir::NodeId> origin;  // by node: the node of the given graph that it computes,
                                   // possibly with its axes in another order; invalid for constants
                                   // and vectors that take the axes' order of another operand
};

// The graph in which transposes pass pointwise operators, concatenations, slices, paddings,
// softmaxes and sums over axes. Pairs that meet vanish. Operands that lie in other orders must be
// constants, vectors or single elements. Where no transpose vanishes, all stay where they are.
// Identities and casts to the same type are left out. Nothing where that changes nothing. Sizes are
// concrete. O(nodes).
std::optional<WithoutMoves> without_moves(const ir::Graph& graph, const IsPointwise& is_pointwise);

}  // namespace egret::backends
