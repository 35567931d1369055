// SPDX-License-Identifier: Apache-2.0
// Reduced-cost fixing: candidates that dual ascent proves too expensive.
#pragma once

#include "extract/bounds/dual_ascent.h"

namespace egret::extract {

// Drops the candidates of which every answer costs more than `known_cost`, Core::paid included.
// `flat` and `dual` are of the core as it is. The tolerance keeps candidates of answers as good as
// the known one, so the core never loses its last best answer to rounding. True if any was dropped.
bool drop_dear(Core& core, const FlatCore& flat, const DualAscent& dual, double known_cost);

}  // namespace egret::extract
