// SPDX-License-Identifier: Apache-2.0
// A part of a graph as a graph of its own, and back.
//
// A region is a set of operators, none of them computed from weights alone, such that no path
// leaves it and comes back. What it needs from outside becomes inputs, save what depends on weights
// alone, which comes along.
#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::driver {

using Members = std::vector<char>;  // by node: whether it belongs to the region

struct Region {
  ir::Graph graph;
  std::vector<ir::NodeId> inputs;   // of the whole graph, one for each input of the region's
  std::vector<ir::NodeId> outputs;  // the members whose values are used outside, one an output
};

// The set with all that lies on a path between two of its members.
Members convex(const ir::Graph& graph, const Members& members);

// O(nodes).
Region cut_out(const ir::Graph& graph, const Members& members);

struct PutBack {
  ir::Graph graph;
  std::vector<ir::NodeId> place;  // of each node that was there; invalid where it is gone
};
// The graph with `rewritten`, which has the region's inputs and outputs, in the region's place.
PutBack put_back(const ir::Graph& graph, const Region& region, const ir::Graph& rewritten);

}  // namespace egret::driver
