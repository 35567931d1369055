// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "extract/core/extractor.h"

namespace egret::extract {

// For each class, the set of classes that its cheapest known term needs, with the sum of their
// nodes' costs. Sharing inside one term is thus counted once (as in the extraction gym's
// faster-greedy-dag). Sharing among children is seen. Sharing that pays only if several classes
// change together is not. Acyclic by construction. O(nodes * set size * improvements).
base::Result<Solution> extract_dag_greedy(const Problem& problem, const Options& options);

// As extract_dag_greedy(), for all classes, reachable or not.
std::vector<NodeIndex> cheapest_dags(const Problem& problem, const Options& options);

}  // namespace egret::extract
