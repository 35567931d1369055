// SPDX-License-Identifier: Apache-2.0
// Copies between f32 and bf16 or 8-bit integers.
#pragma once

#include "backends/cpu/plan/step.h"
#include "base/status.h"

namespace egret::backends::cpu {

class PlanBuilder;

// Adds the step that copies `source` to `target`, one of them f32, the other bf16 or an integer of
// 8 bits; or both bf16. Narrowing rounds to nearest even, a real is an integer times `scale`, and
// integers saturate. Errors: unsupported between layouts that oneDNN has no kernel for; never where
// both are of one dense layout.
base::Status add_rounding(PlanBuilder& builder, const Operand& source, const Operand& target,
                          float scale = 1);
// The same for weights, during construction.
base::Status round_now(PlanBuilder& builder, const Operand& source, const Operand& target,
                       float scale = 1);

}  // namespace egret::backends::cpu
