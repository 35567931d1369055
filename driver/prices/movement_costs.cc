// SPDX-License-Identifier: Apache-2.0
#include "driver/prices/movement_costs.h"

#include <algorithm>

#include "driver/prices/graph_queries.h"
#include "ir/nest/work.h"

namespace egret::driver {

bool only_moves(const cost::Query& query) {
  if (cost::is_view(*query.op) || query.all_constant()) return false;
  const auto work = ir::work_of(*query.op, *query.attrs, query.inputs);
  return work.ok() && work->flops == 0;
}

int count_of_moves(const ir::Graph& graph) {
  const GraphQueries queries(graph);
  return static_cast<int>(std::ranges::count_if(queries.all(), only_moves));
}

base::Result<cost::Cost> MovementCosts::cost(const cost::Query& query) {
  EGRET_ASSIGN_OR_RETURN(cost::Cost cost, prices_.cost(query));
  if (only_moves(query)) cost.seconds += seconds_per_move_;
  return cost;
}

}  // namespace egret::driver
