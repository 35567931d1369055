// SPDX-License-Identifier: Apache-2.0
// A core as an integer program.
//
// Columns: whether a candidate is chosen, and whether a class is. Rows: a chosen class has one
// candidate; and for a class and another that some of its candidates imply
// (extract/core/implied.h), the sum of these is at most what is chosen of the other, without its
// candidates that imply the first. That is tighter than a row for each need, as at most one
// candidate of a class is chosen, and forbids cycles of two. Longer ones are forbidden as they turn
// up in answers; when that takes many rounds, the classes of components where they did get
// positions in an order.
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
