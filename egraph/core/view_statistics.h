// SPDX-License-Identifier: Apache-2.0
// Statistics of an e-graph: size, number of choices, cycles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "egraph/core/op_table.h"
#include "egraph/core/view.h"

namespace egret::egraph {

struct ViewStatistics {
  std::size_t nodes = 0;
  std::size_t classes = 0;
  std::size_t roots = 0;
  std::size_t children = 0;       // of all nodes together
  std::size_t leaves = 0;         // nodes without children
  std::size_t largest_class = 0;  // in nodes
  std::size_t largest_arity = 0;
  std::size_t cyclic_classes = 0;     // that contain a term of themselves
  std::size_t reachable_classes = 0;  // from the roots; all when there are none
  std::size_t reachable_nodes = 0;
  double log2_choices = 0;  // of the number of ways to pick one node in each reachable class

  struct Operator {
    std::string text;
    std::size_t nodes = 0;
  };
  std::vector<Operator> operators;  // by descending number of nodes, then by text
};

// O(nodes + children), O(distinct operators log) for their order.
ViewStatistics statistics(const EGraphView& view, const OpTable& ops);

}  // namespace egret::egraph
