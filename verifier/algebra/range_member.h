// SPDX-License-Identifier: Apache-2.0
// Checks whether a range has a member for all sizes. Tries the lower bounds of its variables.
#pragma once

#include <vector>

#include "verifier/index/index_solver.h"

namespace egret::verifier {

// Whether, wherever the facts hold, the guards hold for some values of the variables. False also
// means "not known".
bool has_member(AtomTable& atoms, IndexSolver& solver, const std::vector<AtomId>& variables,
                const Facts& guards, const Facts& facts);

}  // namespace egret::verifier
