// SPDX-License-Identifier: Apache-2.0
// Cuts that forbid cycles: a class of a set is chosen only if some chosen candidate of the set's
// classes needs none of them (loop formulas of answer-set programming; Lin, Zhao 2004).
//
// The set need not be a cycle. Suppose two paths lead from a class to another, each chosen by half.
// The row then requires that the other class is chosen in full, while a row per need requires only
// half.
//
// The cuts are separated from a relaxation's solution. A set grows from a class along needs of
// candidates that lead out of it; the need that increases the outgoing value least enters first.
// Finding the most violated row is NP-hard for candidates with several needs, so the search is
// greedy.
#pragma once

#include <span>
#include <vector>

#include "extract/core/flat_core.h"
#include "extract/milp/milp.h"

namespace egret::extract {

// Columns are candidates as FlatCore numbers them. `loop` is ascending and contains `chosen`.
Milp::Row loop_cut(const FlatCore& flat, const std::vector<ClassIndex>& loop, ClassIndex chosen);

// Cuts that these values of the candidates violate, at most one per class.
std::vector<Milp::Row> violated_loop_cuts(const FlatCore& flat, std::span<const double> values);

}  // namespace egret::extract
