// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

// For each class the set of classes that its cheapest known term needs, with the sum of their
// nodes' costs, so that sharing inside one term is counted once (as in the extraction gym's
// faster-greedy-dag). Sharing between siblings is seen, sharing that pays only when several classes
// change together is not. Acyclic by construction. O(nodes * set size * improvements).
base::Result<Solution> extract_dag_greedy(const Problem& problem, const Options& options);

// The same for all classes, reachable or not.
std::vector<NodeIndex> cheapest_dags(const Problem& problem, const Options& options);

}  // namespace egret::extract
