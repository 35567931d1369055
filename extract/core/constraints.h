// SPDX-License-Identifier: Apache-2.0
// Nodes that no answer may contain, and nodes that every answer contains, needed or not. They are
// encoded in the problem, so every extractor respects them. A forbidden node gets infinite cost. A
// forced node becomes the only node of its class, and the class becomes a root.
#pragma once

#include <span>
#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

struct ConstrainedProblem {
  EGraphView graph;
  std::vector<double> costs;

  Problem problem() const { return {graph, costs}; }
};

// Errors: bad_input if two nodes of one class are forced, or a forced node is forbidden.
base::Result<ConstrainedProblem> constrained(const Problem& problem,
                                             std::span<const NodeIndex> forbidden,
                                             std::span<const NodeIndex> forced);

}  // namespace egret::extract
