// SPDX-License-Identifier: Apache-2.0
// Constants in storage form (storage.h).
#pragma once

#include "ir/core/tensor.h"

namespace egret::backends::cuda {

inline constexpr double kMostBF16 = 0x1.FEp127;  // the largest finite number

// Moves the second axis behind all others and rounds f32 to bf16, as requested. Finite numbers stay
// finite.
ir::Tensor stored_constant(const ir::Tensor& plain, bool channels_last, bool narrow);

}  // namespace egret::backends::cuda
