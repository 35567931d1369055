// SPDX-License-Identifier: Apache-2.0
// Solves a core as an integer program.
//
// Columns: one binary per candidate and per class. Rows: a chosen class has one chosen candidate.
// Further, take a class c and a class d that some candidates of c imply (extract/core/implied.h).
// The sum of these candidates is at most the chosen value of d, without d's candidates that imply
// c. That is tighter than one row per need, because at most one candidate of c is chosen, and it
// forbids cycles of length two. Longer cycles are forbidden lazily. If that takes many rounds, the
// classes of the affected components get order variables.
//
// Without side rows, the solver stops once much of the core has turned out useless.
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
