// SPDX-License-Identifier: Apache-2.0
// The kernels of machines that fuse: an elementwise operator joins the kernel that computes its
// largest operand, as in the CUDA backend. It starts no kernel and does not read this operand; the
// operand is not written if nothing else reads it. A collective ends a kernel, so an elementwise
// operator after it starts one. All of it is a price of single nodes, so that the cheapest plan
// remains an extraction problem.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "parallel/machine/cluster.h"
#include "parallel/placed/placed_egraph.h"

namespace egret::parallel {

class Fusion {
 public:
  using Index = egraph::EGraphView::Index;

  // Without effect where the machine does not fuse. All arguments outlive this. O(nodes).
  Fusion(const PlacedEGraph& placed, const egraph::EGraphView& view, const Cluster& machine);

  // The additional seconds of an operator in the kernel of an operand; none where it has its own.
  std::optional<double> seconds_if_fused(Index node) const;
  // The start of a kernel and its traffic, if elementwise operators may read what this collective
  // leaves; otherwise 0.
  double seconds_of_interruption(Index collective) const;

 private:
  const PlacedEGraph::Placed& value_of(Index node) const {
    return placed_.placed(view_.class_id[view_.node_class[node]]);
  }
  bool is_computed(const PlacedEGraph::Placed& value) const;
  // The operand whose kernel an elementwise operator joins.
  std::optional<std::size_t> joined_operand(Index node) const;

  const PlacedEGraph& placed_;
  const egraph::EGraphView& view_;
  const Cluster& machine_;
  std::vector<bool> elementwise_;       // by node
  std::vector<bool> read_elementwise_;  // by class of the view
  std::set<egraph::ClassId> shared_;    // values that several values are computed from
};

}  // namespace egret::parallel
