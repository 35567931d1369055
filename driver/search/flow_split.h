// SPDX-License-Identifier: Apache-2.0
// Flow-based graph split (Jia et al., MetaFlow, SysML 2019, section 4.2): a large graph is cut
// where the fewest rules reach across, again and again, until the parts are small; backtracking
// search works on each part, and then once more around each cut for what reaches across.
//
// A cut is a minimum vertex cut. A node's capacity is the number of matches that hold both an edge
// into the node and one out of it, plus 1, so that of cuts that hinder as little the one with the
// fewest values is taken. The first and the last quarter of a part's nodes stay on their sides,
// which the paper does not say: the smallest cut is often at the input.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "driver/search/graph_search.h"
#include "driver/select/region.h"

namespace egret::driver {

// The parts and around what cut they lie.
struct FlowSplit {
  std::vector<Members> parts;                 // disjoint regions
  std::vector<std::vector<ir::NodeId>> cuts;  // the nodes of each; the larger cuts first
};

// Parts of at most so many operators, which together are all that do not depend on weights alone.
// Capacities are by node, at least 1. O(parts * a maximum flow).
FlowSplit split_by_flow(const ir::Graph& graph, std::span<const std::int64_t> capacity,
                        std::size_t most_operators);

// Errors: as backtrack().
base::Result<GraphSearchResult> backtrack_in_parts(const ir::Graph& graph,
                                                   const rules::AdmittedRules& rules,
                                                   const PriceOf& price,
                                                   const GraphSearchOptions& options);

}  // namespace egret::driver
