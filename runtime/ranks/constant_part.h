// SPDX-License-Identifier: Apache-2.0
// What ranks exchange of constants alone, weights above all: a block of two weights side by side is
// not two blocks side by side. It is the same in every run, so it is exchanged once, before the
// first; to the program that is run it is a constant like others, which a backend may lay out as it
// likes.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/ranks/rank_program.h"

namespace egret::runtime {

struct ConstantPart {
  parallel::PlacedGraph graph;     // nothing but constants and what follows from them
  std::vector<std::size_t> nodes;  // of the whole graph: what the outputs are
};

// Without outputs where nothing that follows from constants alone is exchanged. O(nodes).
ConstantPart constant_part(const parallel::PlacedGraph& graph);

using RunGraph = std::function<base::Result<std::vector<ir::Tensor>>(
    const ir::Graph& graph, std::span<const ir::Tensor> inputs)>;

// Runs that part; for rank_program(). All ranks call it.
// Errors: as they come from `run` and `exchange`.
base::Result<HeldBlocks> exchange_constants(const parallel::PlacedGraph& graph, std::int64_t rank,
                                            const RunGraph& run, const Exchange& exchange);

}  // namespace egret::runtime
