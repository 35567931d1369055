// SPDX-License-Identifier: Apache-2.0
// Slices that together cover a tensor: one ONNX Split instead of a Slice for each.
#pragma once

#include <span>
#include <vector>

#include "ir/graph/graph.h"

namespace egret::frontends {

// Nodes that cut one value along one axis into adjacent pieces without a remainder.
struct SplitGroup {
  ir::NodeId whole;
  std::int64_t axis = 0;
  std::vector<ir::NodeId> pieces{};  // in the order of their starts; at least 2
  ir::Integers sizes{};
};

// The groups among `live` nodes of a graph, in order of their first nodes. A value whose slices
// overlap, leave gaps or repeat is in none. O(n log n).
std::vector<SplitGroup> find_splits(const ir::Graph& graph, std::span<const ir::NodeId> live);

}  // namespace egret::frontends
