// SPDX-License-Identifier: Apache-2.0
// A core's least answer by MaxSAT: what an answer must have as clauses, what it would rather not
// pay as soft ones, and a solver that learns from conflicts (Z3; cores as in Narodytska, Bacchus,
// AAAI 2014). The other exact methods look at costs; this one looks at what excludes what. It
// proves little where many different costs add up, and is the only quick one where costs are small
// whole numbers and most of the choices would go in circles.
#pragma once

#include <functional>

#include "base/timer.h"
#include "extract/core/core.h"

namespace egret::extract {

// What it can be asked, and answers: costs are whole numbers, none is negative, and there are some
// thousands of candidates at most.
bool suits_maxsat(const Core& core);

// The least answer where it is found in time; otherwise the known one, with a bound as far as one
// is proven. For cores that suit. The solver runs in a process of its own
// (extract/milp/milp_process.h).
base::Result<CoreAnswer> solve_by_maxsat(const Core& core, const CoreAnswer& known,
                                         const base::Deadline& deadline,
                                         const std::function<bool()>& should_stop);

}  // namespace egret::extract
