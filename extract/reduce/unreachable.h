// SPDX-License-Identifier: Apache-2.0
// Reduction "unreachable": drops the classes that no required class reaches.
#pragma once

#include "extract/core/core.h"

namespace egret::extract {

// Renumbers the classes that are left, in their old order. Returns whether a class was dropped.
// O(size of the core).
bool drop_unreachable(Core& core);

}  // namespace egret::extract
