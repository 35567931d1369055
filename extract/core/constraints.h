// SPDX-License-Identifier: Apache-2.0
// Nodes that no answer may have, and nodes that every answer has, whether something else needs them
// or not. They are a matter of the problem, so every extractor keeps to them: a forbidden node
// costs infinitely much; a forced one is the only node of its class, which is made a root.
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

// Errors: bad_input when two nodes of one class are forced, or a forbidden one.
base::Result<ConstrainedProblem> constrained(const Problem& problem,
                                             std::span<const NodeIndex> forbidden,
                                             std::span<const NodeIndex> forced);

}  // namespace egret::extract
