// SPDX-License-Identifier: Apache-2.0
// The layouts that kernels of this backend have.
#pragma once

#include <vector>

#include "backends/layouts.h"
#include "ir/graph/graph.h"

namespace egret::backends::cpu {

// LayoutForms::layouts_of() in f32. O(nodes).
std::vector<KernelLayouts> kernel_layouts(const ir::Graph& piece);

}  // namespace egret::backends::cpu
