// SPDX-License-Identifier: Apache-2.0
// LanePlan: how a loop nest is evaluated, many elements at a time.
//
// One loop variable is the lane: up to kLanes of its values are evaluated at once, and every
// operation is a short loop over an array (as in vectorized query engines: Boncz, Zukowski, Nes,
// "MonetDB/X100", CIDR 2005). The lane is an output variable. Where the output has no good one (a
// sum over contiguous elements), it is a variable of a reduction whose result is one number.
// Expressions that do not depend on the lane are evaluated as one number. Nothing is evaluated
// again until a variable that it depends on has changed, which hoists loop invariants.
#pragma once

#include <vector>

#include "ir/nest/loop_nest.h"

namespace egret::ir {

inline constexpr int kLanes = 256;

struct LanePlan {
  LoopNest nest;
  int output_lane = -1;           // symbol; -1: output elements one by one
  int block = kLanes;             // output lanes at once
  std::vector<int> loops;         // other output variables, outermost first
  std::size_t chunks_before = 0;  // loops inside the loop over blocks of the output lane
  // Lane of each node: a symbol, or -1 for one number.
  std::vector<int> lanes;
  // Of a reduction to one number: its variable that makes the lanes of its body, or -1.
  std::vector<int> reduction_lanes;
  // When a node or symbol must be computed again: 0 never, 1 when an output variable changes, else
  // 2 + ordinal of the innermost loop variable that it depends on.
  std::vector<int> node_scopes, symbol_scopes;
  double seconds = 0;  // rough estimate for the whole box on one core
};

inline constexpr int kNeverScope = 0;
inline constexpr int kBlockScope = 1;
inline int scope_of_variable(int ordinal) { return 2 + ordinal; }

// Merges variables that always occur as one (contiguous axes), then chooses lanes and loop order by
// a cost estimate. Errors: unsupported for sharing that a plan cannot express.
base::Result<LanePlan> lane_plan(LoopNest nest);

}  // namespace egret::ir
