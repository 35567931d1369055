// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/training_setup.h"

#include <string>
#include <tuple>

namespace egret::parallel {

const base::OptionTable<TrainingSetup>& TrainingSetup::table() {
  using S = TrainingSetup;
  const auto size = base::range(1, 1e9);
  static const base::OptionTable<S> rows{
      "simulate",
      {{"model-layers", &S::layers, "Layers of the transformer", size},
       {"hidden", &S::hidden, "Hidden size", size},
       {"heads", &S::heads, "Attention heads", size},
       {"kv-heads", &S::kv_heads, "Heads of keys and values; 0: as many as heads",
        base::range(0, 1e9)},
       {"ffn", &S::ffn, "Hidden size of the feed-forward layer; 0: four times --hidden",
        base::range(0, 1e9)},
       {"gated", &S::gated, "The feed-forward layer has a gate (SwiGLU)"},
       {"sequence-length", &S::sequence, "Tokens of a sequence", size},
       {"vocabulary", &S::vocabulary, "Entries of the vocabulary, padded", size},
       {"untied", &S::untied, "The output layer has weights of its own"},
       {"no-dropout", &S::no_dropout, "Train without dropout"},
       {"flash-attention", &S::flash_attention, "Attention is one kernel (FlashAttention)"},
       {"frozen", &S::frozen, "The weights get no gradients, as under LoRA"},
       {"tp", &S::tensor, "Degree of tensor parallelism", size},
       {"pp", &S::pipeline, "Degree of pipeline parallelism", size},
       {"dp", &S::data, "Degree of data parallelism", size},
       {"cp", &S::context, "Degree of context parallelism", size},
       {"vpp", &S::virtual_stages,
        "Chunks of layers of each pipeline rank; above 1 the schedule is interleaved", size},
       {"micro-batch", &S::micro_batch, "Sequences of a micro-batch", size},
       {"global-batch", &S::global_batch, "Sequences of a step", size},
       {"schedule", &S::schedule, "Schedule of the pipeline",
        base::one_of({"1f1b", "gpipe", "zb-h1", "dualpipe"})},
       {"recompute", &S::recompute, "Recomputation of activations",
        base::one_of({"none", "selective", "full"})},
       {"sequence-parallel", &S::sequence_parallel,
        "Split normalizations and dropout along the sequence between the tensor ranks"},
       {"distributed-optimizer", &S::distributed_optimizer,
        "Split the optimizer's state between the data-parallel ranks"},
       {"overlap-gradients", &S::overlap_gradients, "Exchange gradients during the backward pass"},
       {"overlap-transfers", &S::overlap_transfers,
        "Send activations between stages during computation"},
       {"overlap-tensor", &S::overlap_tensor,
        "Exchange tensor-parallel blocks beside the products that need or make them"},
       {"train-precision", &S::precision, "Element type of the products",
        base::one_of({kPrecisionNames.begin(), kPrecisionNames.end()})},
       {"gradient-bytes", &S::gradient_bytes, "Bytes of an accumulated gradient",
        base::range(2, 4)},
       {"optimizer-bytes", &S::optimizer_bytes, "Bytes of the optimizer's state of a parameter",
        base::range(0, 64)},
       {"logit-bytes", &S::logit_bytes, "Bytes of a logit, kept for the backward pass",
        base::range(0, 64)}}};
  return rows;
}

base::Status TrainingSetup::check() const {
  const auto divides = [](std::int64_t divisor, std::int64_t value) {
    return value % divisor == 0;
  };
  const std::int64_t groups = kv_heads > 0 ? kv_heads : heads;
  const std::tuple<bool, const char*> demands[] = {
      {divides(heads, hidden), "--hidden must be a multiple of --heads"},
      {divides(tensor, heads), "--heads must be a multiple of --tp"},
      {divides(tensor, ffn_size()), "--ffn must be a multiple of --tp"},
      {divides(groups, heads), "--heads must be a multiple of --kv-heads"},
      {divides(context * (sequence_parallel ? tensor : 1), sequence),
       "--sequence-length must be a multiple of --cp, and of --cp x --tp with --sequence-parallel"},
      {layers >= chunks(), "--model-layers must be at least --pp x --vpp"},
      {divides(data * micro_batch, global_batch),
       "--global-batch must be a multiple of --dp x --micro-batch"},
      {virtual_stages == 1 || pipeline > 1, "--vpp needs --pp above 1"},
      {virtual_stages == 1 || schedule == PipelineKind::k1F1B, "--vpp needs --schedule 1f1b"},
      {virtual_stages == 1 || (global_batch >= data * micro_batch &&
                               divides(pipeline, global_batch / data / micro_batch)),
       "with --vpp, the number of micro-batches must be a multiple of --pp"}};
  for (const auto& [holds, message] : demands) {
    if (!holds) return base::usage_error(message);
  }
  return base::ok();
}

std::vector<std::int64_t> TrainingSetup::layers_of_chunks() const {
  std::vector<std::int64_t> result(static_cast<std::size_t>(chunks()), layers / chunks());
  for (std::size_t i = 0; i < static_cast<std::size_t>(layers % chunks()); ++i) ++result[i];
  return result;
}

double TrainingSetup::qkv_factor() const {
  const double part = kv_heads > 0 ? static_cast<double>(kv_heads) / static_cast<double>(heads) : 1;
  return 1 + 2 * part;
}

double TrainingSetup::layer_parameters() const {
  const auto h = static_cast<double>(hidden);
  const auto f = static_cast<double>(ffn_size());
  return (h * h * (qkv_factor() + 1) + (gated ? 3 : 2) * h * f) / static_cast<double>(tensor) +
         4 * h;
}

double TrainingSetup::embedding_parameters() const {
  return static_cast<double>(vocabulary) * static_cast<double>(hidden) /
         static_cast<double>(tensor);
}

double TrainingSetup::model_parameters() const {
  return static_cast<double>(tensor) * (static_cast<double>(layers) * layer_parameters() +
                                        (untied ? 2 : 1) * embedding_parameters());
}

double TrainingSetup::model_flops() const {
  const auto tokens = static_cast<double>(global_batch) * static_cast<double>(sequence);
  const auto h = static_cast<double>(hidden);
  const double dense = h * h * (qkv_factor() + 1) +
                       (gated ? 3 : 2) * h * static_cast<double>(ffn_size()) +
                       2 * h * static_cast<double>(sequence);
  const double forward =
      2 * tokens * (static_cast<double>(layers) * dense + h * static_cast<double>(vocabulary));
  return (frozen ? 2 : 3) * forward;
}

}  // namespace egret::parallel
