// SPDX-License-Identifier: Apache-2.0
// Decomposition of a core.
#pragma once

#include <vector>

#include "extract/core/core.h"

namespace egret::extract {

// The number of each class's strongly connected component. A cycle of choices stays within one
// component.
std::vector<std::uint32_t> strong_components(const Core& core);

// Cores that share no class and whose answers together form an answer of the core. `origin` maps a
// part's classes to the core's. Classes not reached from a required one are in no part.
struct Part {
  Core core;  // `paid` and `decided` are empty
  std::vector<ClassIndex> origin;
};
std::vector<Part> connected_parts(const Core& core);

}  // namespace egret::extract
