// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/training_memory.h"

#include "parallel/transformer/experts.h"

namespace egret::parallel {
namespace {

double hidden_elements(const TrainingSetup& setup) {
  return static_cast<double>(setup.micro_batch) * static_cast<double>(setup.sequence) *
         static_cast<double>(setup.hidden) / static_cast<double>(setup.context);
}

// Kept of a layer's experts: what they and the sum of their results read, and the router's shares.
double expert_bytes(const TrainingSetup& setup) {
  const ExpertRows rows = expert_rows(setup);
  const auto hidden = static_cast<double>(setup.hidden);
  const double inner = static_cast<double>(setup.expert_ffn_size()) /
                       static_cast<double>(setup.expert_tensor_degree());
  return rows.computed * (2 * hidden + (setup.gated ? 3 : 2) * 2 * inner) + rows.sent * 2 * hidden +
         routed_tokens(setup) * static_cast<double>(setup.experts) * 4;
}

double activation_bytes(const TrainingSetup& setup, Recompute recompute, LayerKind kind) {
  const double elements = hidden_elements(setup);
  const auto t = static_cast<double>(setup.tensor);
  const double split = setup.sequence_parallel ? t : 1;
  if (recompute == Recompute::kFull) return 2 * elements / split;
  const double masks = setup.no_dropout ? 0 : 2;
  // Both normalizations' inputs and outputs. Then inside of the split products.
  const double outside = 8 + masks;
  const double ffn = static_cast<double>(setup.ffn_size()) / static_cast<double>(setup.hidden);
  const bool dense = kind == LayerKind::kDense;
  const double inside = 2 * setup.held_qkv_factor() + 2 * setup.attended_factor() +
                        (dense ? (setup.gated ? 3 : 2) * 2 * ffn : 0);
  double scores = 0;
  if (recompute == Recompute::kNone && !setup.flash_attention) {
    const double factor = static_cast<double>(setup.heads) * static_cast<double>(setup.sequence) /
                          static_cast<double>(setup.hidden);
    scores = (setup.no_dropout ? 2 : 5) * factor;
  }
  return elements * (outside / split + (inside + scores) / t) + (dense ? 0 : expert_bytes(setup));
}

}  // namespace

double layer_activation_bytes(const TrainingSetup& setup, LayerKind kind) {
  return activation_bytes(setup, setup.recompute, kind);
}

double whole_layer_activation_bytes(const TrainingSetup& setup, LayerKind kind) {
  return activation_bytes(setup, Recompute::kNone, kind);
}

double embedding_activation_bytes(const TrainingSetup& setup) {
  const double split = setup.sequence_parallel ? static_cast<double>(setup.tensor) : 1;
  return setup.no_dropout ? 0 : hidden_elements(setup) / split;
}

double head_activation_bytes(const TrainingSetup& setup) {
  const double split = setup.sequence_parallel ? static_cast<double>(setup.tensor) : 1;
  const double factor = setup.vocabulary_part() / static_cast<double>(setup.hidden);
  return hidden_elements(setup) * (4 / split + static_cast<double>(setup.logit_bytes) * factor);
}

double divided_parameters(const TrainingSetup& setup, double parameters, double expert_parameters,
                          std::int64_t copies) {
  return (parameters - expert_parameters) / static_cast<double>(copies) +
         expert_parameters / static_cast<double>(expert_data_group(setup, copies).size);
}

StateBytes state_bytes(const TrainingSetup& setup, double parameters, double expert_parameters) {
  const double held =
      setup.distributed_optimizer
          ? divided_parameters(setup, parameters, expert_parameters, setup.data * setup.context)
          : parameters;
  const double weights = setup.weight_bytes() * parameters;
  if (setup.frozen) return {weights, 0, 0};
  return {weights, static_cast<double>(setup.gradient_bytes) * parameters,
          static_cast<double>(setup.optimizer_bytes) * held};
}

}  // namespace egret::parallel
