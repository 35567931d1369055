// SPDX-License-Identifier: Apache-2.0
// The prices of a placed program's nodes on a machine: roofline times of operators on parts,
// alpha-beta times of collectives, the steps and transfers of rings.
//
// Where the machine fuses, an elementwise operator may join the kernel of an operand
// (parallel/plan/fusion.h). It starts no kernel and does not read that operand, which is not
// written if nothing else reads it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "cost/model.h"
#include "ir/graph/graph.h"
#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

class ProgramPrices {
 public:
  // Both outlive this. O(nodes).
  ProgramPrices(const PlacedGraph& graph, const Cluster& machine);

  // By node: whether it depends on constants only. It is computed before the first run, and free.
  const std::vector<bool>& constant() const { return constant_; }
  // By node: how often it is read, with outputs.
  const std::vector<std::size_t>& readers() const { return readers_; }

  // The operand whose kernel an elementwise operator joins, as the number of an input.
  std::optional<std::size_t> joined_operand(const PlacedNode& node) const;
  // Of an operator in the kernel of its joined operand; alone where there is none.
  // Errors: those of the cost model.
  base::Result<double> fused_seconds(const PlacedNode& node) const;
  // Of an operator in a kernel of its own, of a collective, a ring or a copy back.
  base::Result<double> seconds_alone(const PlacedNode& node) const;
  // The sum over the operators of a graph.
  base::Result<double> seconds_of(const ir::Graph& graph) const;
  // Of a value to storage or back.
  double copy_seconds(const PlacedNode& node) const;
  // A copy within a device: read and write.
  double seconds_to_copy(double bytes) const;

 private:
  base::Result<double> seconds_of(const ir::Operator& op, const ir::Attrs& attrs,
                                  std::span<const ir::TensorType> types,
                                  std::span<const bool> constant,
                                  const ir::TensorType& output) const;
  base::Result<double> seconds_of(const RingProgram& ring) const;

  const PlacedGraph& graph_;
  const Cluster& machine_;
  const std::unique_ptr<cost::Model> model_;
  const std::vector<bool> constant_;
  std::vector<std::size_t> readers_;
};

}  // namespace egret::parallel
