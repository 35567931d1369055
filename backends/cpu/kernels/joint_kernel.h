// SPDX-License-Identifier: Apache-2.0
// Regions of pointwise operators that store several values in one pass.
#pragma once

#include <span>

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Whether make_joint_kernel() makes one kernel of the nodes, ascending, that stores the values of
// the last and of these nodes. They have one shape.
bool is_joint_region(const ir::Graph& graph, std::span<const ir::NodeId> nodes,
                     std::span<const ir::NodeId> stored);

// Adds the step that computes the group and stores the values of its root and of these nodes in it.
// Errors: unsupported where there is no such kernel; nothing but reorders was added then.
base::Status make_joint_kernel(PlanBuilder& builder, const Group& group,
                               std::span<const ir::NodeId> stored);

}  // namespace egret::backends::cpu
