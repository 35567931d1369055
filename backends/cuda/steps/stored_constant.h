// SPDX-License-Identifier: Apache-2.0
// Constants as a device keeps them (storage.h).
#pragma once

#include "ir/core/tensor.h"

namespace egret::backends::cuda {

inline constexpr double kMostBF16 = 0x1.FEp127;  // the largest finite number

// With the second axis behind all others, and of f32 in bf16, as asked for; what is finite stays
// finite.
ir::Tensor stored_constant(const ir::Tensor& plain, bool channels_last, bool narrow);

}  // namespace egret::backends::cuda
