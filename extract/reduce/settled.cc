// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/settled.h"

namespace egret::extract {

// Fixes the nodes of a candidate in the answer. Core::lift() adds them to every choice.
void decide(Core& core, const Problem& problem, const Candidate& candidate) {
  for (const NodeIndex node : candidate.picks) core.decided[problem.graph.node_class[node]] = node;
}

}  // namespace egret::extract
