// SPDX-License-Identifier: Apache-2.0
// Contiguous axes of a loop nest become one variable.
#pragma once

#include "ir/nest/loop_nest.h"

namespace egret::ir {

// Merges contiguous axes of a loop nest: variables u, v that occur in every form as u*extent(v) + v
// become one variable.
void merge_variables(LoopNest& nest);

}  // namespace egret::ir
