// SPDX-License-Identifier: Apache-2.0
// A bound from below where every choice is between two candidates and every price depends on two
// choices at most: maximum cuts, clauses of two literals. Linear relaxations say next to nothing of
// such cores, since halves satisfy everything; the semidefinite one (Goemans, Williamson 1995) puts
// a unit vector in a choice's place and is mostly within some percent.
//
// It is solved by its factors, one vector after the other (Burer, Monteiro 2003; Wang, Chang,
// Kolter 2017), and the dual that their lengths give is made feasible by a Cholesky factorization,
// so that the bound holds however far the iteration came.
#pragma once

#include <optional>

#include "base/timer.h"
#include "extract/core/core.h"

namespace egret::extract {

// Without Core::paid. Nothing for cores of another form: a class that is required and has two
// candidates, or is not and has one, which needs nothing and is needed by two others at most.
// O(choices^3), and O(prices * sqrt(choices)) a round.
std::optional<double> semidefinite_bound(const Core& core, const base::Deadline& deadline);

}  // namespace egret::extract
