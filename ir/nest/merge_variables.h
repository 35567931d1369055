// SPDX-License-Identifier: Apache-2.0
// Contiguous axes of a loop nest become one variable.
#pragma once

#include <vector>

#include "ir/nest/loop_nest.h"

namespace egret::ir {

// Merges contiguous axes of a loop nest: variables u, v that occur in every form as u*extent(v) + v
// become one variable.
void merge_variables(LoopNest& nest);

// The same for neighbours in `variables` alone, outermost first: their mixed-radix number keeps its
// meaning. Axes of reads (NestNode::axes) become invalid.
void merge_neighbours(LoopNest& nest, std::vector<int>& variables);

}  // namespace egret::ir
