// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "extract/core/extractor.h"

namespace egret::extract {

// Starts from tree-greedy and from dag-greedy and takes improving moves until there is none or time
// is up:
//   switch  one used class takes another of its nodes;
//   share   an unused class (a merged convolution) becomes used, and every used class that can be
//   derived from it (a slice of it) takes that node at once. Greedy never makes this move, because
//   the merged operator pays only if several classes use it.
// Anytime and deterministic. A round is O(nodes * nodes used).
base::Result<Solution> extract_local_search(const Problem& problem, const Options& options);

// Improves a given choice. It must be complete and acyclic. It also chooses nodes for unused
// classes, which apply if a move makes such a class used.
std::vector<NodeIndex> improve_choice(const Problem& problem, const Options& options,
                                      std::vector<NodeIndex> choice);

}  // namespace egret::extract
