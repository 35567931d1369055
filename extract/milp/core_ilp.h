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
  // More rows that answers keep to, over candidates as FlatCore numbers them; where none does, the
  // bound is infinite.
  std::span<const Milp::Row> sides{};
  // Branching without cuts first, for what that decides at once.
  bool branches_first = true;
};

// `known` is an answer to start from, its cost alone, or empty. Errors: internal_error of the
// solver.
base::Result<CoreAnswer> solve_by_ilp(const Core& core, MilpSolver& solver, const CoreAnswer& known,
                                      const base::Deadline& deadline,
                                      const std::function<bool()>& should_stop,
                                      const IlpOptions& options = {});

}  // namespace egret::extract
