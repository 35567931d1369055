// SPDX-License-Identifier: Apache-2.0
// Rows that forbid circles: a class of a set is chosen only if some class of the set has a chosen
// candidate that needs none of them (the loop formulas of answer-set programming; Lin, Zhao 2004).
//
// The set need not be a circle. Where two ways lead from a class to another, each chosen by half,
// the row says that the other is chosen in full; a row for each need sees half of it.
//
// They are looked for around a relaxation's answer: a set grows from a class by needs of candidates
// that lead out of it, by the one first that lets what leads out grow least. With candidates of
// several needs the search for the most violated row is NP-hard, so this is greedy.
#pragma once

#include <span>
#include <vector>

#include "extract/core/flat_core.h"
#include "extract/milp/milp.h"

namespace egret::extract {

// Columns are candidates as FlatCore numbers them. `loop` is ascending and holds `chosen`.
Milp::Row loop_cut(const FlatCore& flat, const std::vector<ClassIndex>& loop, ClassIndex chosen);

// Such rows that these values of the candidates violate, at most one for each class.
std::vector<Milp::Row> violated_loop_cuts(const FlatCore& flat, std::span<const double> values);

}  // namespace egret::extract
