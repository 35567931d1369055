// SPDX-License-Identifier: Apache-2.0
// Reduction "free": a class is settled by a candidate that costs nothing and needs nothing.
#pragma once

#include "extract/core/core.h"

namespace egret::extract {

// Only without negative costs. Classes with marked candidates stay. Returns whether a class was
// settled. O(size).
bool settle_free(Core& core, const Problem& problem);

}  // namespace egret::extract
