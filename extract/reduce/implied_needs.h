// SPDX-License-Identifier: Apache-2.0
// Reduction "implied": drops a need that another need of the same candidate implies.
#pragma once

#include "extract/core/implied.h"

namespace egret::extract {

// The path of needs that leads from the other need to the dropped one stays in every answer, so the
// order of the two is still asked for. Returns whether a need was dropped. Quadratic in a
// candidate's needs.
bool drop_implied_needs(Core& core, const Implied& implied);

}  // namespace egret::extract
