// SPDX-License-Identifier: Apache-2.0
// The kernels of a segment's graph as a list with times.
#pragma once

#include "parallel/transformer/kernel_list.h"
#include "parallel/transformer/layer_graphs.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// Of attention's segment: all, or only scores, probabilities and their products with values.
enum class SegmentPart : unsigned char { kAll, kCore };

// FlashAttention keeps what lies between its products on the chip, and the mask leaves half of
// them. Its backward pass computes the scores again. Gradients of weights are left out where the
// setup freezes them, and summed over micro-batches otherwise.
void segment_forward(KernelList& list, const TrainingSetup& setup, const SegmentKernels& segment,
                     SegmentPart part = SegmentPart::kAll);
void segment_backward(KernelList& list, const TrainingSetup& setup, const SegmentKernels& segment,
                      SegmentPart part = SegmentPart::kAll);

}  // namespace egret::parallel
