// SPDX-License-Identifier: Apache-2.0
// Training of a decoder-only transformer as Megatron-LM describes it: the sizes of the model, and
// the degrees and choices of its parallelization.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "parallel/pipeline/pipeline_schedule.h"
#include "parallel/system/accelerator.h"

namespace egret::parallel {

struct LayerKernels;

enum class Recompute : unsigned char { kNone, kSelective, kFull };

// A layer whose feed-forward half is one network for all tokens, or experts for some tokens each.
enum class LayerKind : unsigned char { kDense, kExperts };

// Of tokens with their experts: to each rank in one message; within nodes and then between them; or
// once to each node and each rank that has experts of the token, in one pipeline over both (DeepEP,
// DeepSeek-AI, 2025). The first is the faster of the next two.
enum class ExpertExchange : unsigned char { kFastest, kDirect, kHierarchical, kOnce };

// Layers of a chunk of the pipeline, by their recomputation.
struct ChunkLayers {
  std::int64_t kept = 0, selective = 0, full = 0;
  std::int64_t all() const { return kept + selective + full; }

  friend bool operator==(const ChunkLayers&, const ChunkLayers&) = default;
};

// The devices of a pipeline rank, which are neighbours, and how they divide its work.
struct StageDegrees {
  std::int64_t tensor = 1, context = 1, data = 1;
  std::int64_t first_device = 0;
  std::int64_t devices() const { return tensor * context * data; }

  friend auto operator<=>(const StageDegrees&, const StageDegrees&) = default;
};

struct TrainingSetup {
  std::int64_t layers = 24;
  std::int64_t hidden = 2048;
  std::int64_t heads = 16;
  std::int64_t kv_heads = 0;    // 0: as many as heads
  std::int64_t head_width = 0;  // of a head; 0: hidden / heads
  std::int64_t ffn = 0;         // hidden size of the feed-forward layer; 0: four times hidden
  bool gated = false;           // feed-forward with a gate (SwiGLU)
  std::int64_t sequence = 2048;
  std::int64_t vocabulary = 51200;
  bool untied = false;  // the output layer has its own weights
  bool no_dropout = false;
  bool flash_attention = false;
  bool frozen = false;  // weights get no gradients, as under LoRA, whose own work is left out

  std::int64_t experts = 0;     // of a layer; 0: none, all layers are dense
  std::int64_t top_k = 2;       // experts that a token goes to
  double capacity_factor = 0;   // places of an expert, relative to the mean load; 0: any number
  std::int64_t expert_ffn = 0;  // hidden size of an expert; 0: as ffn
  std::int64_t expert_interval = 1;  // every so many layers has experts
  double expert_skew = 0;            // of their popularity (experts.h)

  // Instead of the transformer: a Wide-ResNet of so many layers of weights (wide_resnet.h), whose
  // residual blocks are the layers; 0: none. Images are the sequences.
  std::int64_t wide_resnet = 0;
  std::int64_t channels = 160;
  std::int64_t width_factor = 2;
  std::int64_t image_size = 224;
  std::int64_t classes = 1024;

  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t context = 1;
  // The ranks of a stage, tensor x context x data, are divided anew for experts: expert_tensor
  // ranks share each expert, and expert_parallel such groups divide them (Liu et al., "MoE Parallel
  // Folding", 2025).
  std::int64_t expert_parallel = 1;
  std::int64_t expert_tensor = 0;   // 0: as tensor
  std::int64_t virtual_stages = 1;  // of each pipeline rank; above 1 the schedule is interleaved
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 1;
  PipelineKind schedule = PipelineKind::k1F1B;
  Recompute recompute = Recompute::kNone;
  // Numbers of layers by chunk, separated by commas. Empty: as equal as possible; as `recompute`.
  std::string stage_layers;
  std::string full_layers;       // recomputed in full, the rest not
  std::string selective_layers;  // of the rest, those that recompute their attention
  // Degrees and first devices by pipeline rank, separated by commas, where ranks differ. Then
  // tensor, context and data are 1, and micro_batch counts the sequences of all replicas of a rank.
  // Without stage_first, each rank follows the one before.
  std::string stage_tensor, stage_context, stage_data, stage_first;
  bool sequence_parallel = false;
  bool distributed_optimizer = false;
  bool overlap_gradients = false;  // the exchange of gradients runs beside the backward pass
  bool overlap_transfers = false;  // sends between stages run beside computation
  bool overlap_tensor = false;     // tensor-parallel exchanges run beside the products they feed
  bool overlap_weights = false;    // exchanges of inputs' gradients beside weights' gradients
  ExpertExchange expert_exchange = ExpertExchange::kFastest;
  bool overlap_experts = false;  // a layer's exchanges run beside another micro-batch's computation
  Precision precision = Precision::kF16;
  std::int64_t gradient_bytes = 4;    // of an element
  std::int64_t optimizer_bytes = 12;  // of a parameter: master weight and two moments in f32
  std::int64_t logit_bytes = 6;       // of a logit, kept for the backward pass: f16 and f32
  // Kernels at these sizes and degrees from graphs (layer_graphs.h), in the place of the lists.
  // nullptr: the lists.
  std::shared_ptr<const LayerKernels> layer_kernels = nullptr;

  static const base::OptionTable<TrainingSetup>& table();

  // Sizes are positive and divide each other as Megatron demands. Usage error otherwise.
  base::Status check() const;

  std::int64_t devices() const;
  std::int64_t end_device() const;  // all devices of the setup are below
  bool has_unlike_stages() const {
    return !stage_tensor.empty() || !stage_context.empty() || !stage_data.empty() ||
           !stage_first.empty();
  }
  // By pipeline rank, whether they differ or not.
  std::vector<StageDegrees> stages() const;
  void set_stages(const std::vector<StageDegrees>& stages);
  // The setup as the devices of one of stages() see it: all ranks have its degrees.
  TrainingSetup of_stage(const StageDegrees& stage) const;
  // The output layer has the embedding's weights.
  bool is_tied() const { return !untied && wide_resnet == 0; }
  double weight_bytes() const;  // of a parameter
  std::int64_t micro_batches() const { return global_batch / data / micro_batch; }
  std::int64_t chunks() const { return pipeline * virtual_stages; }
  // Layers of each chunk of the pipeline. Unless stage_layers tells, they differ by at most one.
  std::vector<std::int64_t> layers_of_chunks() const;
  // The same by recomputation.
  std::vector<ChunkLayers> chunks_by_recomputation() const;
  void set_chunks(const std::vector<ChunkLayers>& chunks);
  double head_size() const {
    return head_width > 0 ? static_cast<double>(head_width)
                          : static_cast<double>(hidden) / static_cast<double>(heads);
  }
  double attention_size() const { return head_size() * static_cast<double>(heads); }
  std::int64_t ffn_size() const { return ffn > 0 ? ffn : 4 * hidden; }
  std::int64_t expert_ffn_size() const { return expert_ffn > 0 ? expert_ffn : ffn_size(); }
  // Every expert_interval-th layer, from the one of that number.
  LayerKind kind_of(std::int64_t layer) const {
    return experts > 0 && (layer + 1) % expert_interval == 0 ? LayerKind::kExperts
                                                             : LayerKind::kDense;
  }
  std::int64_t expert_tensor_degree() const { return expert_tensor > 0 ? expert_tensor : tensor; }
  std::int64_t expert_layers() const { return experts > 0 ? layers / expert_interval : 0; }
  // Of queries, keys and values together, and of the attended values, relative to hidden: 3 and 1
  // unless there are fewer kv_heads, or heads of another size.
  double qkv_factor() const;
  // The first of them times the tensor ranks' parts: more where ranks beyond kv_heads hold copies.
  double held_qkv_factor() const;
  double attended_factor() const { return attention_size() / static_cast<double>(hidden); }

  // Parameters that one device holds of a layer, of its experts therein, and of the embedding (or
  // the output layer).
  double layer_parameters(LayerKind kind = LayerKind::kDense) const;
  double expert_parameters(LayerKind kind = LayerKind::kExperts) const;
  // Of these, those that each tensor rank has: normalizations, the router.
  double common_parameters(LayerKind kind) const;
  double vocabulary_part() const;  // entries of a tensor rank; the last ranks pad theirs
  double embedding_parameters() const;
  double model_parameters() const;  // of the whole model
  double all_expert_parameters() const;
  double active_parameters() const;  // of these, those that a token meets
  // Of a step, as MFU counts them: 3 times the forward products, without recomputation. Of experts,
  // those of all choices of tokens, dropped or not.
  double model_flops() const;
};

}  // namespace egret::parallel
