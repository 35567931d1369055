// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/training_memory.h"

namespace egret::parallel {
namespace {

double hidden_elements(const TrainingSetup& setup) {
  return static_cast<double>(setup.micro_batch) * static_cast<double>(setup.sequence) *
         static_cast<double>(setup.hidden) / static_cast<double>(setup.context);
}

double activation_bytes(const TrainingSetup& setup, Recompute recompute) {
  const double elements = hidden_elements(setup);
  const auto t = static_cast<double>(setup.tensor);
  const double split = setup.sequence_parallel ? t : 1;
  if (recompute == Recompute::kFull) return 2 * elements / split;
  const double masks = setup.no_dropout ? 0 : 2;
  // Both normalizations' inputs and outputs. Then inside of the split products.
  const double outside = 8 + masks;
  const double ffn = static_cast<double>(setup.ffn_size()) / static_cast<double>(setup.hidden);
  const double inside = 2 * setup.qkv_factor() + 2 + (setup.gated ? 3 : 2) * 2 * ffn;
  double scores = 0;
  if (recompute == Recompute::kNone && !setup.flash_attention) {
    const double factor = static_cast<double>(setup.heads) * static_cast<double>(setup.sequence) /
                          static_cast<double>(setup.hidden);
    scores = (setup.no_dropout ? 2 : 5) * factor;
  }
  return elements * (outside / split + (inside + scores) / t);
}

}  // namespace

double layer_activation_bytes(const TrainingSetup& setup) {
  return activation_bytes(setup, setup.recompute);
}

double whole_layer_activation_bytes(const TrainingSetup& setup) {
  return activation_bytes(setup, Recompute::kNone);
}

double embedding_activation_bytes(const TrainingSetup& setup) {
  const double split = setup.sequence_parallel ? static_cast<double>(setup.tensor) : 1;
  return setup.no_dropout ? 0 : hidden_elements(setup) / split;
}

double head_activation_bytes(const TrainingSetup& setup) {
  const auto t = static_cast<double>(setup.tensor);
  const double split = setup.sequence_parallel ? t : 1;
  const double factor = static_cast<double>(setup.vocabulary) / static_cast<double>(setup.hidden);
  return hidden_elements(setup) * (4 / split + static_cast<double>(setup.logit_bytes) * factor / t);
}

StateBytes state_bytes(const TrainingSetup& setup, double parameters) {
  const double shares =
      setup.distributed_optimizer ? static_cast<double>(setup.data * setup.context) : 1;
  if (setup.frozen) return {2 * parameters, 0, 0};
  return {2 * parameters, static_cast<double>(setup.gradient_bytes) * parameters,
          static_cast<double>(setup.optimizer_bytes) * parameters / shares};
}

}  // namespace egret::parallel
