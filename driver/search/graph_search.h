// SPDX-License-Identifier: Apache-2.0
// Optimizers that rewrite whole graphs, one rule at a time, without an e-graph: what equality
// saturation is compared with, on the same rules and costs. They prove nothing about their answer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/progress.h"
#include "base/status.h"
#include "cost/model.h"
#include "ir/graph/graph.h"
#include "rules/tensors/admitted_rules.h"

namespace egret::driver {

// The time of one operator, in seconds. A failure: it cannot be priced and is not to be used.
using PriceOf = std::function<base::Result<double>(const cost::Query&)>;

struct GraphSearchOptions {
  double alpha = 1.05;         // graphs up to this times the cost of the best are rewritten further
  std::int64_t budget = 1000;  // graphs that are rewritten, in each part where there are parts
  double seconds = 20;
  std::uint64_t bytes = std::uint64_t{4} << 30;
  base::ProgressSink* progress = nullptr;
};

struct GraphSearchResult {
  ir::Graph graph;
  double cost = 0;              // of the graph: the sum over its operators that do not depend on
                                // weights alone, equal ones once
  std::string stop_reason;      // "exhausted", "budget", "time limit", "byte limit", "interrupted"
  bool limit_hit = false;       // of time or memory
  std::uint64_t rewritten = 0;  // graphs
  std::uint64_t seen = 0;       // different graphs
  std::uint64_t terms = 0;      // different operators and leaves that they are made of
  std::map<std::string, std::uint64_t> applied;  // rules on the way to the graph
};

struct GraphSearchRow {
  std::string_view name;
  std::string_view help;
  base::Result<GraphSearchResult> (*search)(const ir::Graph& graph,
                                            const rules::AdmittedRules& rules, const PriceOf& price,
                                            const GraphSearchOptions& options);
};

// By name; `egret optimize --extractor` takes them beside the extractors.
std::span<const GraphSearchRow> graph_searches();
const GraphSearchRow* find_graph_search(std::string_view name);

}  // namespace egret::driver
