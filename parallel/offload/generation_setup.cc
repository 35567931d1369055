// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/generation_setup.h"

#include "parallel/transformer/number_list.h"

namespace egret::parallel {
namespace {

// Each layer, batch and expert is planned by itself.
constexpr std::int64_t kMostLayers = 2000;
constexpr std::int64_t kMostBatchLayers = 100'000;
constexpr std::int64_t kMostExperts = 20'000;

base::Status check_shares(const char* flag, const std::string& text) {
  if (text.empty()) return base::ok();
  const auto numbers = numbers_of(text);
  if (!numbers || numbers->size() != 3 || (*numbers)[0] > 100 || (*numbers)[1] > 100 ||
      (*numbers)[0] + (*numbers)[1] + (*numbers)[2] != 100) {
    return base::usage_error(std::string(flag) +
                             " needs three percentages that sum to 100: on the accelerator, in "
                             "the host's memory, on its disk, as in 20,80,0");
  }
  return base::ok();
}

}  // namespace

const base::OptionTable<GenerationSetup>& GenerationSetup::table() {
  using S = GenerationSetup;
  const auto size = base::range(1, 1e9);
  static const base::OptionTable<S> rows{
      "offload",
      {{"model-layers", &S::layers, "Layers of the transformer", size},
       {"hidden", &S::hidden, "Hidden size", size},
       {"heads", &S::heads, "Attention heads", size},
       {"kv-heads", &S::kv_heads, "Heads of keys and values; 0: as many as heads",
        base::range(0, 1e9)},
       {"head-size", &S::head_width, "Size of an attention head; 0: --hidden / --heads",
        base::range(0, 1e9)},
       {"ffn", &S::ffn, "Hidden size of the feed-forward layer; 0: four times --hidden",
        base::range(0, 1e9)},
       {"gated", &S::gated, "The feed-forward layer has a gate (SwiGLU)"},
       {"vocabulary", &S::vocabulary, "Entries of the vocabulary, padded", size},
       {"untied", &S::untied, "The output layer has weights of its own"},
       {"flash-attention", &S::flash_attention, "Attention is one kernel (FlashAttention)"},
       {"prompt", &S::prompt, "Tokens of each prompt", size},
       {"output-tokens", &S::output_tokens, "Tokens that are generated after each prompt",
        base::range(1, 1e6)},
       {"experts", &S::experts, "Experts of a layer (mixture of experts); 0: layers are dense",
        base::range(0, 1e5)},
       {"top-k", &S::top_k, "Experts that each token goes to", size},
       {"expert-ffn", &S::expert_ffn, "Hidden size of an expert; 0: that of --ffn",
        base::range(0, 1e9)},
       {"expert-skew", &S::expert_skew,
        "Exponent of the experts' popularity (Zipf's law); 0: all are equally popular",
        base::range(0, 10)},
       {"expert-popularity", &S::expert_popularity,
        "File with a line for each layer, or one line for all of them: how often each expert is "
        "chosen, separated by blanks",
        base::path()},
       {"gpu-batch", &S::gpu_batch,
        "Sequences that the accelerator computes at a time; 0: searched", base::range(0, 1e6)},
       {"gpu-batches", &S::gpu_batches,
        "Batches of a block, for which the weights of a layer are loaded once; 0: searched",
        base::range(0, 1e4)},
       {"cpu-attention", &S::cpu_attention,
        "Whether the host computes attention over caches that it holds",
        base::one_of({"search", "on", "off"})},
       {"compress", &S::compress, "What is stored in 4 bits, in groups of 64 numbers",
        base::one_of({"none", "weights", "cache", "both"})},
       {"weights-on", &S::weights_on,
        "Percent of the weights on the accelerator, in the host's memory and on its disk, as "
        "20,80,0; default: searched"},
       {"cache-on", &S::cache_on, "The same of keys and values"},
       {"activations-on", &S::activations_on, "The same of the activations between layers"}}};
  return rows;
}

base::Status GenerationSetup::check() const {
  if (layers > kMostLayers) {
    return base::usage_error("--model-layers must be at most " + std::to_string(kMostLayers) +
                             " for generation");
  }
  if (layers * gpu_batches > kMostBatchLayers) {
    return base::usage_error("--model-layers times --gpu-batches must be at most " +
                             std::to_string(kMostBatchLayers));
  }
  if (layers * experts > kMostExperts) {
    return base::usage_error("--model-layers times --experts must be at most " +
                             std::to_string(kMostExperts));
  }
  if (kv_heads > 0 && heads % kv_heads != 0)
    return base::usage_error("--heads must be a multiple of --kv-heads");
  if (head_width == 0 && hidden % heads != 0)
    return base::usage_error("--hidden must be a multiple of --heads, or --head-size be given");
  if (experts > 0 && top_k > experts) return base::usage_error("--top-k must be at most --experts");
  if (experts == 0 && (expert_skew > 0 || !expert_popularity.empty()))
    return base::usage_error("--expert-skew and --expert-popularity need --experts");
  if (expert_skew > 0 && !expert_popularity.empty())
    return base::usage_error("--expert-skew cannot be combined with --expert-popularity");
  if (compresses_cache() && cpu_attention == CpuAttention::kOn)
    return base::usage_error("--cpu-attention on cannot be combined with a compressed cache");
  if (experts > 0 &&
      (compress != Compression::kNone || cpu_attention == CpuAttention::kOn || gpu_batches > 1 ||
       !weights_on.empty() || !cache_on.empty() || !activations_on.empty())) {
    return base::usage_error(
        "--experts cannot be combined with --compress, --cpu-attention, --gpu-batches, "
        "--weights-on, --cache-on and --activations-on");
  }
  EGRET_RETURN_IF_ERROR(check_shares("--weights-on", weights_on));
  EGRET_RETURN_IF_ERROR(check_shares("--cache-on", cache_on));
  return check_shares("--activations-on", activations_on);
}

TrainingSetup GenerationSetup::as_training(std::int64_t batch) const {
  TrainingSetup setup;
  setup.layers = layers;
  setup.hidden = hidden;
  setup.heads = heads;
  setup.kv_heads = kv_heads;
  setup.head_width = head_width;
  setup.ffn = ffn;
  setup.gated = gated;
  setup.vocabulary = vocabulary;
  setup.untied = untied;
  setup.flash_attention = flash_attention;
  setup.sequence = prompt;
  setup.no_dropout = true;
  setup.experts = experts;
  setup.top_k = top_k;
  setup.expert_ffn = expert_ffn;
  setup.micro_batch = batch;
  setup.global_batch = batch;
  return setup;
}

double GenerationSetup::expert_elements() const {
  const TrainingSetup model = as_training(1);
  return (gated ? 3.0 : 2.0) * static_cast<double>(hidden) *
         static_cast<double>(model.expert_ffn_size());
}

double GenerationSetup::model_parameters() const { return as_training(1).model_parameters(); }

}  // namespace egret::parallel
