// SPDX-License-Identifier: Apache-2.0
// A plan beside its program: both are interpreted.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "ir/graph/graph.h"
#include "parallel/placed/placed_graph.h"

namespace egret::parallel {

// Whether a plan was compared with its program.
enum class PlanCheck : unsigned char { kPassed, kSkipped, kOutOfTime, kInterrupted };
std::string_view name_of(PlanCheck check);

struct PlanChecked {
  PlanCheck check = PlanCheck::kSkipped;
  double seconds = 0;  // that it took
};

// Runs the plan once on all ranks, for at most LIMIT_S seconds; 0: not at all. INPUTS are those of
// PROGRAM; empty: random ones. Errors: mismatch, and what the interpreter reports.
base::Result<PlanChecked> check_plan(const PlacedGraph& plan, const ir::Graph& program,
                                     std::span<const ir::Tensor> inputs, double limit_s);

}  // namespace egret::parallel
