// SPDX-License-Identifier: Apache-2.0
// Reductions that compute the reduced value in the same pass, from the pointwise operators that
// make it, and several values of such a pass.
#pragma once

#include <span>

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Whether the reduction is expected to gain by that: short runs cost more than the pass over memory
// that they save.
bool may_reduce_region(const ir::Graph& graph, ir::NodeId reduction);

// Whether the nodes are pointwise operators and, as the last, a reduction of their value.
bool is_reduced_region(const ir::Graph& graph, std::span<const ir::NodeId> nodes);

// Whether make_joint_reduction() makes one kernel of the nodes, ascending, that stores these
// values: pointwise operators and up to eight reductions, over the same axes, of their values or of
// values from outside, all of one shape. No operator reads a reduction. O(nodes^2).
bool is_joint_reduction(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                        std::span<const ir::NodeId> stored);

// Adds the step that computes the group and stores the values of its reductions, of its root and of
// these nodes. Errors: unsupported where there is no such kernel; nothing but reorders and scratch
// space was added then.
base::Status make_joint_reduction(PlanBuilder& builder, const Group& group,
                                  std::span<const ir::NodeId> stored);

}  // namespace egret::backends::cpu
