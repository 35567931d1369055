// SPDX-License-Identifier: Apache-2.0
// Kernels emitted from definitions (backends/codegen) for operators without another kernel, and the
// interpreter as the last resort, which allocates and which the plan's report names.
#pragma once

#include <string>

#include "backends/cpu/plan/plan_builder.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// Whether the interpreter computes the operator faster than loops emitted for it: sums of products
// of reals.
bool interprets_faster(const ir::Graph& graph, ir::NodeId id);

// Whether one kernel can be emitted for all nodes of the group.
bool is_emitted_as_one(const PlanBuilder& builder, const Group& group);

// Adds the step that computes the group; `reason` tells why no other kernel does. Always possible
// for a single node, and for several of which is_emitted_as_one() is true.
// compile_emitted() decides between the emitted kernel and the interpreter.
void make_emitted_kernel(PlanBuilder& builder, const Group& group, std::string reason);

// Compiles the kernels of all such steps as one file, where CompileOptions::emission allows it and
// it pays. The interpreter computes the other steps, and the report has the reason. Call it when
// all groups are built. Up to some tenths of a second a kernel; next to nothing if cached.
void compile_emitted(PlanBuilder& builder);

}  // namespace egret::backends::cpu
