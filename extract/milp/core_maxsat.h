// SPDX-License-Identifier: Apache-2.0
// Solves a core by MaxSAT: the structure as hard clauses, costs as soft clauses, and a
// conflict-driven solver (Z3; core-guided as in Narodytska, Bacchus, AAAI 2014). The other exact
// methods reason about costs; this one reasons about conflicts. It proves little if many different
// costs add up. It is the only fast method if costs are small integers and most choices would form
// cycles.
#pragma once

#include <functional>

#include "base/timer.h"
#include "extract/core/core.h"

namespace egret::extract {

// Whether MaxSAT applies: integer costs, none negative, and at most some thousands of candidates.
bool suits_maxsat(const Core& core);

// The least answer if it is found in time; otherwise the known one with the best proven bound.
// Requires suits_maxsat(). The solver runs in its own process (extract/milp/milp_process.h).
base::Result<CoreAnswer> solve_by_maxsat(const Core& core, const CoreAnswer& known,
                                         const base::Deadline& deadline,
                                         const std::function<bool()>& should_stop);

}  // namespace egret::extract
