// SPDX-License-Identifier: Apache-2.0
// The order of kernels that keeps few bytes alive, for plans with a limit of memory.
//
// Method: beam search over sets of groups that were built, one more at each step; of sets with the
// same groups the one with the lower peak is kept (for the exact search over all such sets: Ahn et
// al., "Ordering chaos: memory-aware scheduling", MLSys 2020). O(groups * width * ready groups).
#pragma once

#include <vector>

#include "backends/cpu/plan/plan_builder.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// The groups in an order in which they can be built as well. Values count from the step that makes
// them to the last that reads them; scratch space, layouts and padding are not known yet.
std::vector<Group> in_frugal_order(const ir::Graph& graph, std::vector<Group> groups);

}  // namespace egret::backends::cpu
