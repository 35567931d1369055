// SPDX-License-Identifier: Apache-2.0
// A lower bound for cores in which every choice is between two candidates and every price depends
// on at most two choices: maximum cut, or clauses of two literals. Linear relaxations are nearly
// useless there, because halves satisfy everything. The semidefinite relaxation (Goemans,
// Williamson 1995) replaces each choice by a unit vector and is mostly within a few percent.
//
// It is solved in factored form, one vector at a time (Burer, Monteiro 2003; Wang, Chang, Kolter
// 2017). The vector lengths give a dual solution. A Cholesky factorization makes it feasible, so
// the bound is valid no matter how far the iteration came.
#pragma once

#include <optional>

#include "base/timer.h"
#include "extract/core/core.h"

namespace egret::extract {

// Excludes Core::paid. Returns nothing for cores of another form. In a suitable core, a required
// class has two candidates. Any other class has one candidate, which needs nothing, and at most two
// users. O(choices^3), plus O(prices * sqrt(choices)) per round.
std::optional<double> semidefinite_bound(const Core& core, const base::Deadline& deadline);

}  // namespace egret::extract
