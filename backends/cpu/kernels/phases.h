// SPDX-License-Identifier: Apache-2.0
// Dilated convolutions by phases. The pixels that are d rows and columns apart form an image of
// their own, a phase, and a 3x3 window of dilation d is an undilated window on a phase. Kernels
// without dilation (Winograd) can thus compute it. The d phases of the same row lie side by side in
// a strip, with zeros between them. Each strip is convolved by itself, since oneDNN 2.6.3 has good
// kernels for small images (512 channels of 14x14, dilation 2, AVX-512, one thread: 1.5 ms a strip,
// 4.7 ms for the dilated kernel, 7 ms for all phases in one image).
#pragma once

#include <cstdint>
#include <span>

#include "backends/cpu/plan/plan_builder.h"

namespace egret::backends::cpu {

// The shape of one strip of images [n, c, h, w], where d divides h and w; even in height and width.
ir::Shape strip_shape(const ir::Shape& whole, std::int64_t d);

// Add the steps that write the phases of `whole` into d strips, and those that reassemble them.
void split_phases(PlanBuilder& builder, const Operand& whole, std::span<const Operand> strips);
void join_phases(PlanBuilder& builder, std::span<const Operand> strips, const Operand& whole);

}  // namespace egret::backends::cpu
