// SPDX-License-Identifier: Apache-2.0
// Constants as a device keeps them (storage.h).
#pragma once

#include "ir/tensor.h"

namespace egret::backends::cuda {

// With the second axis behind all others, and of f32 in bf16, as asked for.
ir::Tensor stored_constant(const ir::Tensor& plain, bool channels_last, bool narrow);

}  // namespace egret::backends::cuda
