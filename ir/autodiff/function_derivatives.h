// SPDX-License-Identifier: Apache-2.0
// Derivatives of the opaque scalar functions (ir/core/function.h).
#pragma once

#include <optional>

#include "ir/autodiff/nest_algebra.h"

namespace egret::ir::autodiff {

// The derivative of the call `node` in its argument number `argument`, as a node; nullopt where it
// is 0 almost everywhere (rounding, functions on integers).
std::optional<int> derivative(NestAlgebra& algebra, const LoopNest& nest, int node, int argument);

}  // namespace egret::ir::autodiff
