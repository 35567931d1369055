// SPDX-License-Identifier: Apache-2.0
// Cycles of needs in a choice, which a core's program does not forbid before they turn up.
#pragma once

#include <span>
#include <vector>

#include "extract/core/core.h"

namespace egret::extract {

// `chosen` is a candidate per class, kNoNode for none. Returns the classes of each cycle that a
// depth-first walk through the chosen candidates closes, ascending: none exactly when the choice is
// acyclic. O(classes and needs chosen, plus the cycles' lengths).
std::vector<std::vector<ClassIndex>> cycles_of(const Core& core, std::span<const NodeIndex> chosen);

}  // namespace egret::extract
