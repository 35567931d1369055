// SPDX-License-Identifier: Apache-2.0
// Where a core falls apart.
#pragma once

#include <vector>

#include "extract/core/core.h"

namespace egret::extract {

// For each class the number of its strong component: cycles of choices stay within one.
std::vector<std::uint32_t> strong_components(const Core& core);

// Cores that share no class, whose answers together are the core's. `origin` gives the core's class
// for each of the part's. Classes that no required one reaches are in none.
struct Part {
  Core core;  // `paid` and `decided` are empty
  std::vector<ClassIndex> origin;
};
std::vector<Part> connected_parts(const Core& core);

}  // namespace egret::extract
