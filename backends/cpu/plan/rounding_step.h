// SPDX-License-Identifier: Apache-2.0
// Copies between f32 and bf16.
#pragma once

#include "backends/cpu/plan/step.h"
#include "base/status.h"

namespace egret::backends::cpu {

class PlanBuilder;

// Adds the step that copies `source` to `target`, one of them or both bf16, the other f32;
// narrowing rounds to nearest even. Errors: unsupported between layouts that oneDNN has no kernel
// for; never where both are of one dense layout.
base::Status add_rounding(PlanBuilder& builder, const Operand& source, const Operand& target);
// The same for weights, during construction.
base::Status round_now(PlanBuilder& builder, const Operand& source, const Operand& target);

}  // namespace egret::backends::cpu
