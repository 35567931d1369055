// SPDX-License-Identifier: Apache-2.0
// Moves a value from one layout to another by the fastest available method.
#pragma once

#include "backends/cpu/plan/step.h"
#include "base/status.h"

namespace egret::backends::cpu {

class PlanBuilder;

// Adds the step that copies `source` to `target`: oneDNN's reorder between dense f32 layouts, the
// generic copy for views and other element types.
void add_reorder(PlanBuilder& builder, const Operand& source, const Operand& target);

// Adds oneDNN's reorder between operands of f32, bf16 or 8-bit integers, in any layouts that it can
// describe. Values are multiplied by `factor`.
// Errors: unsupported where it has no optimized kernel. Throws as oneDNN does (guarded()).
base::Status add_onednn_reorder(PlanBuilder& builder, const Operand& source, const Operand& target,
                                float factor = 1);

}  // namespace egret::backends::cpu
