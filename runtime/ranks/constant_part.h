// SPDX-License-Identifier: Apache-2.0
// The communication of values that depend on constants only, mainly weights: a block of two
// concatenated weights is not the concatenation of their blocks. It is the same in every run, so it
// happens once, before the first. For the program that runs it is an ordinary constant, which a
// backend may lay out freely.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/ranks/rank_program.h"

namespace egret::runtime {

struct ConstantPart {
  parallel::PlacedGraph graph;     // constants and values that depend on them only
  std::vector<std::size_t> nodes;  // nodes of the whole graph, by output
};

// Without outputs where no such value is communicated. O(nodes).
ConstantPart constant_part(const parallel::PlacedGraph& graph);

using RunGraph = std::function<base::Result<std::vector<ir::Tensor>>(
    const ir::Graph& graph, std::span<const ir::Tensor> inputs)>;

// Runs that part; for rank_program(). All ranks call it.
// Errors: as they come from `run` and `exchange`.
base::Result<HeldBlocks> exchange_constants(const parallel::PlacedGraph& graph, std::int64_t rank,
                                            const RunGraph& run, const Exchange& exchange);

}  // namespace egret::runtime
