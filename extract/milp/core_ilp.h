// SPDX-License-Identifier: Apache-2.0
// Solves a core as an integer program (extract/milp/core_program.h).
//
// The program forbids cycles of two classes. Longer ones are forbidden as they turn up in answers;
// when that takes many rounds, the classes of the strong components where they did get positions in
// an order (extract/milp/class_positions.h).
//
// Without rows beside the costs it stops where much of the core has turned out useless.
#pragma once

#include "base/timer.h"
#include "extract/core/core.h"
#include "extract/milp/milp.h"

namespace egret::extract {

struct IlpOptions {
  // Side rows over candidates as FlatCore numbers them. If no answer satisfies them, the bound is
  // infinite.
  std::span<const Milp::Row> sides{};
  // First branches without cuts, for instances that this decides at once.
  bool branches_first = true;
};

// `known` is an incumbent to start from, only its cost, or empty. Errors: internal_error of the
// solver.
base::Result<CoreAnswer> solve_by_ilp(const Core& core, MilpSolver& solver, const CoreAnswer& known,
                                      const base::Deadline& deadline,
                                      const std::function<bool()>& should_stop,
                                      const IlpOptions& options = {});

}  // namespace egret::extract
