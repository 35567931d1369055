// SPDX-License-Identifier: Apache-2.0
// An order of kernels with low peak memory, for plans with a memory limit.
//
// Method: beam search over sets of computed groups, one group a step. Of orders of the same set,
// the one with the lower peak is kept (for the exact search over all such sets: Ahn et al.,
// "Ordering chaos: memory-aware scheduling", MLSys 2020). O(groups * width * ready groups).
#pragma once

#include <vector>

#include "backends/cpu/plan/plan_builder.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// The groups in another valid order. A value counts from the step that makes it to its last reader.
// Scratch space, layouts and padding are not known yet.
std::vector<Group> in_frugal_order(const ir::Graph& graph, std::vector<Group> groups);

}  // namespace egret::backends::cpu
