// SPDX-License-Identifier: Apache-2.0
// The kernels of a layer's experts on one device, for one micro-batch: router, permutation,
// exchange with the ranks of the experts, their products in one batch, and the way back. Ranks that
// share an expert gather the tokens, compute their parts, and scatter the sums, as Megatron-LM
// does.
#pragma once

#include "parallel/transformer/kernel_list.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// They replace the feed-forward layer between its normalization and the addition. Exchanges that
// run beside another micro-batch's computation are left out: hide_exchanges() adds what is seen of
// them.
void experts_forward(KernelList& list, const System& system, const TrainingSetup& setup);
void experts_backward(KernelList& list, const System& system, const TrainingSetup& setup);

// With overlap_experts, a pass through a layer with so many exchanges takes at least as long as
// these, and its kernels take longer beside them.
void hide_exchanges(KernelList& layer, const System& system, const TrainingSetup& setup,
                    double exchanges);

}  // namespace egret::parallel
