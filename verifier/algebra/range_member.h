// SPDX-License-Identifier: Apache-2.0
// Does a range have a member, whatever the sizes are? Tries the lower bounds of its variables.
#pragma once

#include <vector>

#include "verifier/index/index_solver.h"

namespace egret::verifier {

// Whether the guards hold for some values of the variables, wherever the facts hold. False also
// means "not known".
bool has_member(AtomTable& atoms, IndexSolver& solver, const std::vector<AtomId>& variables,
                const Facts& guards, const Facts& facts);

}  // namespace egret::verifier
