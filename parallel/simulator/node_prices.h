// SPDX-License-Identifier: Apache-2.0
// The seconds that one device takes for each node of a placed program, by the planner's prices
// (parallel/plan/pricing.h). The planner prices e-nodes, of which it chooses; these are the prices
// of the nodes that were chosen.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "cost/model.h"
#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// The operators of a graph on one device, one after the other. Errors: those of cost::Model.
base::Result<double> seconds_of_graph(const ir::Graph& graph, const cost::Rates& rates);

class NodePrices {
 public:
  // Both outlive this. MACHINE has the mesh of the plan.
  NodePrices(const PlacedGraph& plan, const Cluster& machine);

  // Whether the node follows from constants: it is computed before the first run.
  bool is_constant(std::size_t node) const { return constant_[node]; }

  // Errors: those of cost::Model, for operators without a price.
  base::Result<double> of_operator(std::size_t node) const;
  double of_collective(std::size_t node) const;
  base::Result<double> of_graph(const ir::Graph& part) const;
  // To read and write so many bytes.
  double of_copy(double bytes) const;

 private:
  std::optional<std::size_t> joined_operand(const PlacedNode& node) const;

  const PlacedGraph& plan_;
  const Cluster& machine_;
  const std::unique_ptr<cost::Model> model_;
  const std::vector<bool> constant_;
  std::vector<std::size_t> readers_;  // by node, with outputs
};

}  // namespace egret::parallel
