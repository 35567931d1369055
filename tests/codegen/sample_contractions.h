// SPDX-License-Identifier: Apache-2.0
// Random sums of products: matrix products, convolutions and their adjoints, einsum, behind and
// before what fuses with them.
#pragma once

#include <cstdint>

#include "ir/graph/graph.h"

namespace egret::backends::codegen {

// Types, layouts, strides, padding, groups, dilations and sizes (1 too) follow from the seed.
ir::Graph random_contraction(std::uint64_t seed);
// The same of values that fit bf16 or 16 bits, whose terms may be multiplied in pairs.
ir::Graph random_narrow(std::uint64_t seed);
// The same of values that fit the operands of tensor cores: f16, bf16, f32 that may be rounded to
// TF32, and integers of 8 bits. Many sizes are multiples of 8.
ir::Graph random_fragments(std::uint64_t seed);
// Of any or of such values, with constants among the operands.
ir::Graph random_with_constants(std::uint64_t seed);
// Convolutions of few input and output channels a group, channels first or last, in wider images.
ir::Graph random_depthwise(std::uint64_t seed);

}  // namespace egret::backends::codegen
