// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::driver {

// Values of two graphs that are the same operators on the same operands, inputs by position and
// constants by content: by node, a number that equal values share. O(nodes log nodes), without
// running anything.
struct SameOperators {
  std::vector<std::size_t> a;
  std::vector<std::size_t> b;

  static SameOperators of(const ir::Graph& a, const ir::Graph& b);
  // Whether all outputs are, by position.
  bool outputs_agree(const ir::Graph& graph_a, const ir::Graph& graph_b) const;
};

// The graph with one node for all values of one number: the first of them.
ir::Graph with_one_node_each(const ir::Graph& graph, const std::vector<std::size_t>& numbers);

}  // namespace egret::driver
