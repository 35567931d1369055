// SPDX-License-Identifier: Apache-2.0
#include "extract/reduce/settled.h"

namespace egret::extract {

void decide(Core& core, const Problem& problem, const Candidate& candidate) {
  for (const NodeIndex node : candidate.picks) core.decided[problem.graph.node_class[node]] = node;
}

}  // namespace egret::extract
