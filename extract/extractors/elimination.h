// SPDX-License-Identifier: Apache-2.0
// Exact extraction from cores that are narrow: dynamic programming over a tree decomposition, in
// the form of eliminating variables one after another (Bertele, Brioschi 1972; for e-graphs:
// Goharshady, Lam, Parreaux 2024).
//
// For each class one variable a candidate: whether it or one before it is chosen; so the last says
// whether the class is. A candidate is chosen where the variable goes from no to yes, which costs
// its price and asks that its needs are. Facts speak of three variables at most, so what decides
// the work is how the graph hangs together, not how many candidates a class has. An eliminated
// variable leaves the least cost for each assignment of its neighbours: 2^width numbers.
//
// Circles are forbidden as they turn up, by a chain of variables for each: whether one of the first
// candidates that lead out of it is chosen.
#pragma once

#include <functional>
#include <optional>

#include "base/timer.h"
#include "extract/core/core.h"

namespace egret::extract {

struct EliminationLimits {
  std::size_t width = 20;                      // most neighbours of an eliminated variable
  std::size_t entries = std::size_t{1} << 26;  // of all tables
};

// The least answer of a core; nothing where it is too wide, has negative costs, or takes too long.
std::optional<CoreAnswer> solve_by_elimination(const Core& core, const EliminationLimits& limits,
                                               const base::Deadline& deadline,
                                               const std::function<bool()>& should_stop);

}  // namespace egret::extract
