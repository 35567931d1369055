// SPDX-License-Identifier: Apache-2.0
// A cost model for which data movement is dear. Prices of single operators do not show what a
// transpose or a slice costs in a graph: it separates operators that would share a kernel or a
// layout, and engines remove some by themselves.
#pragma once

#include <string_view>

#include "cost/model.h"
#include "ir/graph/graph.h"

namespace egret::driver {

// Whether an operator computes nothing and is no view, such as a transpose, a slice or a concat.
bool only_moves(const cost::Query& query);
// How many operators of the graph only move data. Sizes are known.
int count_of_moves(const ir::Graph& graph);

// The given model, with `seconds_per_move` on each operator that only moves data.
class MovementCosts final : public cost::Model {
 public:
  // `prices` outlives this.
  MovementCosts(cost::Model& prices, double seconds_per_move)
      : prices_(prices), seconds_per_move_(seconds_per_move) {}

  std::string_view name() const override { return "movement"; }
  base::Result<cost::Cost> cost(const cost::Query& query) override;

 private:
  cost::Model& prices_;
  double seconds_per_move_;
};

}  // namespace egret::driver
