// SPDX-License-Identifier: Apache-2.0
// Resampling of one axis, or of two axes that are neighbours in memory, in one pass.
//
// The taps of each output element along an axis are tables that follow from the operator's
// definition. Of two axes, the outer one is resampled first, a row at a time: the row stays in the
// first-level cache while the inner one is resampled into the output. Any dense layout is taken as
// it is. The axes inside of the resampled ones form vectors.
#pragma once

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"

namespace egret::backends::cpu {

// Whether the kernel takes this node alone: f32, of known sizes, without extrapolation.
bool is_resampling(const ir::Graph& graph, ir::NodeId id);
// Whether the group is two such nodes, the second of which reads the first.
bool is_resampling_of_two_axes(const ir::Graph& graph, const Group& group);

// Errors: unsupported, when the axes of two nodes are no neighbours in memory.
base::Status make_resize_kernel(PlanBuilder& builder, const Group& group);

}  // namespace egret::backends::cpu
