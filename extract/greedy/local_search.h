// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "extract/core/extractor.h"

namespace egret::extract {

// Starts from dag-greedy and takes improving moves until there is none or time is up:
//   switch  one used class takes another of its nodes;
//   share   an unused class (a merged convolution) is brought in, and every used class that can be
//           had from it (a slice of it) takes that node at once. Greedy never makes this move, for
//           the merged operator pays only when several classes use it.
// Anytime and deterministic; a round is O(nodes * nodes used).
base::Result<Solution> extract_local_search(const Problem& problem, const Options& options);

// Improves a given choice, which is complete and acyclic and chooses for unused classes too (those
// say how a class would be had if a move brought it in).
std::vector<NodeIndex> improve_choice(const Problem& problem, const Options& options,
                                      std::vector<NodeIndex> choice);

}  // namespace egret::extract
