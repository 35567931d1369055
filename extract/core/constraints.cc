// SPDX-License-Identifier: Apache-2.0
#include "extract/core/constraints.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace egret::extract {

base::Result<ConstrainedProblem> constrained(const Problem& problem,
                                             std::span<const NodeIndex> forbidden,
                                             std::span<const NodeIndex> forced) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  ConstrainedProblem made{problem.graph, {problem.costs.begin(), problem.costs.end()}};
  for (const NodeIndex node : forbidden) made.costs[node] = kInfinite;
  for (const NodeIndex node : forced) {
    const ClassIndex c = made.graph.node_class[node];
    if (!std::isfinite(made.costs[node])) {
      return base::bad_input(
          "node " + std::to_string(node) +
          " is forced, but it is also forbidden or another node of its e-class is forced");
    }
    for (NodeIndex other = made.graph.class_begin[c]; other < made.graph.class_begin[c + 1];
         ++other) {
      // A forced node becomes the only allowed one of its class, and its class becomes a root, so
      // every answer contains it.
      if (other != node) made.costs[other] = kInfinite;
    }
    if (std::ranges::find(made.graph.roots, c) == made.graph.roots.end())
      made.graph.roots.push_back(c);
  }
  return made;
}

}  // namespace egret::extract
