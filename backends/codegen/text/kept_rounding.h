// SPDX-License-Identifier: Apache-2.0
// Kernels whose result counts on rounding, and what keeps the compiler from computing them in
// another order: sums are vectorized by reassociating them, which turns (x + c) - c into x.
#pragma once

#include <span>
#include <string>

#include "ir/analysis/large_constants.h"
#include "ir/nest/loop_nest.h"

namespace egret::backends::codegen {

// Whether a value of the nest counts on rounding, in the sense of
// frontends/nodes/rounding_dependence.h, and could be computed in another order: a sum of three or
// more terms of which one is a constant so large that sums keep no fraction, or of which a computed
// one cancels; or three factors, of which one is such a constant. `inputs`: of constants, by input;
// further ones are none. O(nodes * 64).
bool counts_on_rounding(const ir::LoopNest& nest, std::span<const ir::ConstantSize> inputs);

// `function`, a definition with the opening brace at the end of its first line that ends in
// "{\n", computed in the order that it is written in, by GCC and Clang.
std::string in_written_order(const std::string& function);

}  // namespace egret::backends::codegen
