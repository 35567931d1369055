// SPDX-License-Identifier: Apache-2.0
// Bytes that training keeps on one device (Korthikanti et al., "Reducing Activation Recomputation
// in Large Transformer Models", 2022, section 4, extended by gated and flash layers).
#pragma once

#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// Activations that a layer keeps from its forward to its backward pass, of one micro-batch.
double layer_activation_bytes(const TrainingSetup& setup, LayerKind kind = LayerKind::kDense);
// The same without recomputation: what the backward pass of a recomputed layer holds for a while.
double whole_layer_activation_bytes(const TrainingSetup& setup, LayerKind kind = LayerKind::kDense);
// Of the embedding's dropout; of the logits and the output layer's input.
double embedding_activation_bytes(const TrainingSetup& setup);
double head_activation_bytes(const TrainingSetup& setup);

struct StateBytes {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
};
// Of so many parameters on a device, some of them of experts. A distributed optimizer divides its
// state.
StateBytes state_bytes(const TrainingSetup& setup, double parameters, double expert_parameters = 0);
// Of these parameters, where COPIES devices hold the same weights except for experts, what one of
// them keeps when all divide them.
double divided_parameters(const TrainingSetup& setup, double parameters, double expert_parameters,
                          std::int64_t copies);

}  // namespace egret::parallel
