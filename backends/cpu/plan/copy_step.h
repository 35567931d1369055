// SPDX-License-Identifier: Apache-2.0
// Copies a tensor from one layout to another: the step behind reorders, transposes, slices,
// paddings and concatenations that no view can express.
#pragma once

#include <memory>

#include "backends/cpu/plan/step.h"
#include "ir/core/attributes.h"
#include "ir/core/tensor.h"

namespace egret::backends::cpu {

// Copies `source` to `target`, of the same shape and element size, with any strides. Zeros what
// pads the last block of channels of a blocked target, and leaves what lies between the target's
// elements as it is: the target may be a box of a larger tensor.
std::unique_ptr<Step> make_copy_step(const Operand& source, const Operand& target, int threads);

// Sets all elements of `target` (a dense operand) to the bytes of `element`.
std::unique_ptr<Step> make_fill_step(const Operand& target, const ir::Tensor& element);

// The box of `whole` that begins at `start` and is of `type`. The layout has no blocks along an
// axis where the box does not begin at 0.
Operand box_of(Operand whole, const ir::TensorType& type, const ir::Integers& start);

}  // namespace egret::backends::cpu
