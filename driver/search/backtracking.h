// SPDX-License-Identifier: Apache-2.0
// Cost-based backtracking search (Jia et al., TASO, SOSP 2019, algorithm 2; after MetaFlow, SysML
// 2019, algorithm 1). A queue of graphs, the cheapest first. The first is taken, each rule is
// applied at each place, and what is new and costs less than alpha times the best joins the queue:
// at alpha = 1 only gains are followed, above it also steps that cost something and may pay off
// later.
//
// The graphs share their terms (rules/tensors/term_graph.h); one in the queue is kept as its parent
// and what was replaced there. Rules are those of saturation, heuristics, rules with several
// sources and dynamic rules included.
//
// Deterministic unless the time limit strikes.
#pragma once

#include "driver/search/graph_search.h"

namespace egret::driver {

// O(budget * matches * terms of a graph). Errors: a size that is symbolic, an operator of the graph
// that has no price.
base::Result<GraphSearchResult> backtrack(const ir::Graph& graph, const rules::AdmittedRules& rules,
                                          const PriceOf& price, const GraphSearchOptions& options);

}  // namespace egret::driver
