// SPDX-License-Identifier: Apache-2.0
// The kernels of the CPU backend: one row of kernels.def an operator, one file a family.
#pragma once

#include <string_view>

#include "backends/cpu/plan/plan_builder.h"
#include "base/status.h"

namespace egret::backends::cpu {

// Adds the steps that compute the group. Errors: unsupported with the reason. In that case only
// reorders of inputs have been added, and the group is split or left to an emitted kernel.
using MakeKernel = base::Status (*)(PlanBuilder& builder, const Group& group);

enum class Epilogue : bool { kNone, kPointwise };

enum class ElementTypes : bool { kF32, kAny };

struct KernelRow {
  std::string_view op;
  MakeKernel make;
  Epilogue epilogue;   // whether it fuses a chain of pointwise operators
  ElementTypes types;  // of its output
};

// The row of the operator; nullptr when it has no kernel of its own.
const KernelRow* find_kernel(std::string_view op);

// Whether the node has a kernel of its own or is pointwise, judged by its types.
bool has_kernel(const ir::Graph& graph, ir::NodeId id);

base::Status make_pointwise_kernel(PlanBuilder& builder, const Group& group);
base::Status make_reduce_kernel(PlanBuilder& builder, const Group& group);

}  // namespace egret::backends::cpu
