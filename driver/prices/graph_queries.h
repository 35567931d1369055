// SPDX-License-Identifier: Apache-2.0
// What a cost model is asked of a graph.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "cost/model.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// A graph's operators that do not depend on weights alone. Opaque nodes, and those of
// unknown sizes, are left out.
class GraphQueries {
 public:
  // `weights`: by input, whether it depends on weights alone; empty: none.
  // The graph outlives this.
  explicit GraphQueries(const ir::Graph& graph, const std::vector<bool>& weights = {});
  GraphQueries(GraphQueries&&) = default;
  std::span<const cost::Query> all() const { return queries_; }
  ir::NodeId node(std::size_t query) const { return nodes_[query]; }

 private:
  struct Storage {
    std::vector<ir::TensorType> types;
    std::unique_ptr<bool[]> constant;
  };
  std::deque<Storage> storage_;  // what the queries point into
  std::vector<cost::Query> queries_;
  std::vector<ir::NodeId> nodes_;  // of the queries
};

}  // namespace egret::driver
