// SPDX-License-Identifier: Apache-2.0
// An order of kernels with low peak memory, for plans with a memory limit.
//
// Method: beam search over sets of computed groups, one group a step. Of orders of the same set,
// the one with the lower peak is kept (for the exact search over all such sets: Ahn et al.,
// "Ordering chaos: memory-aware scheduling", MLSys 2020). O(groups * width * (groups + inputs of
// ready groups)). A request to stop (base/stop.h) ends it with the given order.
#pragma once

#include <map>
#include <vector>

#include "backends/cpu/plan/plan_builder.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// By the root of their group: what it stores besides, for groups that store several values.
using StoredByRoot = std::map<ir::NodeId, std::vector<ir::NodeId>>;

// The groups in another valid order; groups may share nodes. The values of a group count from the
// step that makes them to their last reader. Scratch space, layouts and padding are not known yet.
std::vector<Group> in_frugal_order(const ir::Graph& graph, std::vector<Group> groups,
                                   const StoredByRoot& stored);

}  // namespace egret::backends::cpu
