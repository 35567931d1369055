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
  std::vector<ir::Index> sizes{};

  bool are_numbers() const;  // the sizes
  bool are_equal() const;
};

// The groups among `live` nodes of a graph, in order of their first nodes. A value whose slices
// overlap, leave gaps or repeat is in none. Pieces of different open sizes only with `open_sizes`.
// O(n log n).
std::vector<SplitGroup> find_splits(const ir::Graph& graph, std::span<const ir::NodeId> live,
                                    bool open_sizes);

}  // namespace egret::frontends
