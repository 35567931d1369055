// SPDX-License-Identifier: Apache-2.0
// Copying a tensor from one layout to another: the step behind reorders, transposes, slices,
// paddings and concatenations that no view can stand for.
#pragma once

#include <memory>

#include "backends/cpu/step.h"
#include "ir/tensor.h"

namespace egret::backends::cpu {

// Copies `source` to `target`, of the same shape and element size, in whatever strides. Padding of
// a blocked target is zeroed. `parallel` is the number of threads to use.
std::unique_ptr<Step> make_copy_step(const Operand& source, const Operand& target, int threads);

// Sets all elements of `target` (a dense operand) to the bytes of `element`.
std::unique_ptr<Step> make_fill_step(const Operand& target, const ir::Tensor& element);

}  // namespace egret::backends::cpu
