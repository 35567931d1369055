// SPDX-License-Identifier: Apache-2.0
// A small graph put through the whole of equality saturation: e-graph, rules, extraction, folding.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/core/tensor.h"
#include "ir/graph/graph.h"

namespace egret::conformance {

// The graph with its symbolic sizes bound to those of `inputs`. Unchanged when all are fixed.
base::Result<ir::Graph> bound_to(const ir::Graph& graph, std::span<const ir::Tensor> inputs);

// The graph with all inputs but the first `kept` turned into constants, as weights of a model are.
ir::Graph with_weights(const ir::Graph& graph, std::span<const ir::Tensor> inputs,
                       std::size_t kept);

struct Optimized {
  std::string name;  // "dag-greedy nodes", "tree-greedy draw 2"
  ir::Graph graph;
};

// Programs equal to `graph`, whose sizes are concrete, chosen among what the starter rules find in
// a few iterations: those with fewest operators, as each greedy extractor sees it, and some that
// are cheapest when each node's price is drawn at random, so that rewritten forms that would not
// pay are run as well. Deterministic. Fails when any step does, and when rules contradict each
// other.
base::Result<std::vector<Optimized>> optimized(const ir::Graph& graph);

}  // namespace egret::conformance
