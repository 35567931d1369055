// SPDX-License-Identifier: Apache-2.0
// Training of a decoder-only transformer as Megatron-LM describes it: the sizes of the model, and
// the degrees and choices of its parallelization.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/options/option_table.h"
#include "base/status.h"
#include "parallel/pipeline/pipeline_schedule.h"
#include "parallel/system/accelerator.h"

namespace egret::parallel {

enum class Recompute : unsigned char { kNone, kSelective, kFull };

// Layers of a chunk of the pipeline, by their recomputation.
struct ChunkLayers {
  std::int64_t kept = 0, selective = 0, full = 0;
  std::int64_t all() const { return kept + selective + full; }

  friend bool operator==(const ChunkLayers&, const ChunkLayers&) = default;
};

struct TrainingSetup {
  std::int64_t layers = 24;
  std::int64_t hidden = 2048;
  std::int64_t heads = 16;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t ffn = 0;       // hidden size of the feed-forward layer; 0: four times hidden
  bool gated = false;         // feed-forward with a gate (SwiGLU)
  std::int64_t sequence = 2048;
  std::int64_t vocabulary = 51200;
  bool untied = false;  // the output layer has its own weights
  bool no_dropout = false;
  bool flash_attention = false;
  bool frozen = false;  // weights get no gradients, as under LoRA, whose own work is left out

  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t context = 1;
  std::int64_t virtual_stages = 1;  // of each pipeline rank; above 1 the schedule is interleaved
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 1;
  PipelineKind schedule = PipelineKind::k1F1B;
  Recompute recompute = Recompute::kNone;
  // Numbers of layers by chunk, separated by commas. Empty: as equal as possible; as `recompute`.
  std::string stage_layers;
  std::string full_layers;       // recomputed in full, the rest not
  std::string selective_layers;  // of the rest, those that recompute their attention
  bool sequence_parallel = false;
  bool distributed_optimizer = false;
  bool overlap_gradients = false;  // the exchange of gradients runs beside the backward pass
  bool overlap_transfers = false;  // sends between stages run beside computation
  bool overlap_tensor = false;     // tensor-parallel exchanges run beside the products they feed
  Precision precision = Precision::kF16;
  std::int64_t gradient_bytes = 4;    // of an element
  std::int64_t optimizer_bytes = 12;  // of a parameter: master weight and two moments in f32
  std::int64_t logit_bytes = 6;       // of a logit, kept for the backward pass: f16 and f32

  static const base::OptionTable<TrainingSetup>& table();

  // Sizes are positive and divide each other as Megatron demands. Usage error otherwise.
  base::Status check() const;

  std::int64_t devices() const { return tensor * pipeline * data * context; }
  std::int64_t micro_batches() const { return global_batch / data / micro_batch; }
  std::int64_t chunks() const { return pipeline * virtual_stages; }
  // Layers of each chunk of the pipeline. Unless stage_layers tells, they differ by at most one.
  std::vector<std::int64_t> layers_of_chunks() const;
  // The same by recomputation.
  std::vector<ChunkLayers> chunks_by_recomputation() const;
  void set_chunks(const std::vector<ChunkLayers>& chunks);
  double head_size() const { return static_cast<double>(hidden) / static_cast<double>(heads); }
  std::int64_t ffn_size() const { return ffn > 0 ? ffn : 4 * hidden; }
  // Of queries, keys and values together, relative to hidden: 3 unless there are fewer kv_heads.
  double qkv_factor() const;

  // Parameters that one device holds of a layer, and of the embedding (or the output layer).
  double layer_parameters() const;
  double embedding_parameters() const;
  double model_parameters() const;  // of the whole model
  // Of a step, as MFU counts them: 3 times the forward products, without recomputation.
  double model_flops() const;
};

}  // namespace egret::parallel
