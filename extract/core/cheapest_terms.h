// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

// The cheapest term of each class, reachable or not, by Knuth's generalization of Dijkstra's
// algorithm (Knuth 1977). Optimal in tree cost if no cost is negative; always acyclic. O(size log
// nodes).
struct TreeChoice {
  std::vector<NodeIndex> choice;  // kNoNode: the class has no finite term
  std::vector<double> cost;       // tree cost, at most 1e300; infinite where there is no term
};
TreeChoice cheapest_terms(const Problem& problem);

// bad_input that names the first root without a choice, if there is one.
base::Status check_roots(const Problem& problem, std::span<const NodeIndex> choice);

}  // namespace egret::extract
