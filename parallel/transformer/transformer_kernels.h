// SPDX-License-Identifier: Apache-2.0
// The kernels of a transformer's training step on one device, for one micro-batch, as Megatron-LM
// runs them: fused products of queries, keys and values, fused scale-mask-softmax, fused bias with
// GELU and with dropout; one kernel an operator otherwise.
#pragma once

#include "parallel/transformer/kernel_list.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

KernelList layer_forward(const System& system, const TrainingSetup& setup,
                         LayerKind kind = LayerKind::kDense);
// With the recomputation that the setup asks for.
KernelList layer_backward(const System& system, const TrainingSetup& setup,
                          LayerKind kind = LayerKind::kDense);
KernelList embedding_forward(const System& system, const TrainingSetup& setup);
KernelList embedding_backward(const System& system, const TrainingSetup& setup);
// The last normalization, the products with the vocabulary, and the loss of scattered logits.
KernelList head_forward(const System& system, const TrainingSetup& setup);
KernelList head_backward(const System& system, const TrainingSetup& setup);
// Gradients of a batch of y = x w, x [m, k], w [k, n], and the sum of w's gradient over
// micro-batches.
void product_backward(KernelList& list, const TrainingSetup& setup, double batch, double m,
                      double n, double k);
// Adam on so many of the device's parameters (after the division of a distributed optimizer).
KernelList optimizer_step(const System& system, const TrainingSetup& setup, double parameters);

}  // namespace egret::parallel
