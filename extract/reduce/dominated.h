// SPDX-License-Identifier: Apache-2.0
// Reduction "dominated": drops a candidate that implies all needs of a cheaper one.
#pragma once

#include "extract/core/implied.h"

namespace egret::extract {

// Only without negative costs. Sorts the candidates of a class by cost, then by number of needs.
// Marked candidates stay, behind the others, and dominate none. Returns whether a candidate was
// dropped. Quadratic in a class's candidates up to a limit, beyond which only candidates with equal
// needs are compared.
bool drop_dominated(Core& core, const Implied& implied);

}  // namespace egret::extract
