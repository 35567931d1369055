// SPDX-License-Identifier: Apache-2.0
// Exact extraction for narrow cores: dynamic programming over a tree decomposition, in the form of
// variable elimination (Bertele, Brioschi 1972; for e-graphs: Goharshady, Lam, Parreaux 2024).
//
// Each candidate of a class has one variable: whether it or an earlier candidate is chosen. The
// last one tells whether the class is chosen. A candidate is chosen where the variable changes from
// no to yes; that costs its price and requires its needs. Each constraint has at most three
// variables. The work thus depends on the structure of the graph and not on the number of
// candidates per class. Eliminating a variable leaves the least cost for each assignment of its
// neighbours: 2^width numbers.
//
// Cycles are forbidden lazily. Each one adds a chain of variables: whether one of the first
// candidates that lead out of it is chosen.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "base/timer.h"
#include "extract/core/core.h"
#include "extract/milp/milp.h"

namespace egret::extract {

struct EliminationLimits {
  std::size_t width = 20;                      // most neighbours of an eliminated variable
  std::size_t entries = std::size_t{1} << 26;  // of all tables
};

// The least answer of a core; empty if the core is too wide, has negative costs, or takes too long.
// `sides` are rows over candidates as FlatCore numbers them; each is a factor of its own, so the
// answer is empty too if one has many candidates, or if no answer that keeps to them was found.
std::optional<CoreAnswer> solve_by_elimination(const Core& core, const EliminationLimits& limits,
                                               const base::Deadline& deadline,
                                               const std::function<bool()>& should_stop,
                                               std::span<const Milp::Row> sides = {});

}  // namespace egret::extract
