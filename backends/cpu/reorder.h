// SPDX-License-Identifier: Apache-2.0
// Moving a value from one layout to another by the fastest means at hand.
#pragma once

#include "backends/cpu/step.h"

namespace egret::backends::cpu {

class PlanBuilder;

// Adds the step that copies `source` to `target`: oneDNN's reorder between dense f32 layouts, the
// generic copy for views and other element types.
void add_reorder(PlanBuilder& builder, const Operand& source, const Operand& target);

}  // namespace egret::backends::cpu
