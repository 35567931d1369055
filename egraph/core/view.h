// SPDX-License-Identifier: Apache-2.0
// A read-only copy of an e-graph's structure, for extractors and drawings. It has dense indices and
// flat arrays for classes and children. It can be filled from a live e-graph or from a file.
//
// Invariants: class_begin has class_count() + 1 entries, ascending, and class c owns the nodes
// class_begin[c] .. class_begin[c+1]-1; child_begin likewise for the children of a node; children
// and roots are class indices below class_count().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "egraph/core/egraph.h"

namespace egret::egraph {

struct EGraphView {
  using Index = std::uint32_t;

  std::vector<Index> class_begin{0};
  std::vector<Index> node_class;
  std::vector<OpId> node_op;
  std::vector<Index> child_begin{0};
  std::vector<Index> children;
  std::vector<Index> roots;

  // The e-graph's id of each class, for its data and name. Ascending.
  std::vector<ClassId> class_id;

  std::size_t class_count() const { return class_begin.size() - 1; }
  std::size_t node_count() const { return node_op.size(); }
  std::span<const Index> children_of(Index node) const {
    return std::span(children).subspan(child_begin[node],
                                       child_begin[node + 1] - child_begin[node]);
  }
};

// All visible nodes of a clean e-graph; roots are found by their class. O(nodes).
EGraphView make_view(const EGraph& egraph, std::span<const ClassId> roots = {});

}  // namespace egret::egraph
