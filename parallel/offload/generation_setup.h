// SPDX-License-Identifier: Apache-2.0
// Generation of text by a decoder-only transformer: the sizes of the model, the prompts, and the
// choices that are given instead of searched.
#pragma once

#include <cstdint>
#include <string>

#include "base/options/option_table.h"
#include "base/status.h"
#include "parallel/transformer/training_setup.h"

namespace egret::parallel {

// Weights or caches in groups of 64 elements of four bits, with a scale and an offset of 16 bits
// each (Sheng et al., "FlexGen", 2023, section 5).
enum class Compression : unsigned char { kNone, kWeights, kCache, kBoth };
enum class CpuAttention : unsigned char { kSearch, kOn, kOff };

struct GenerationSetup {
  std::int64_t layers = 24;
  std::int64_t hidden = 2048;
  std::int64_t heads = 16;
  std::int64_t kv_heads = 0;    // 0: as many as heads
  std::int64_t head_width = 0;  // 0: hidden / heads
  std::int64_t ffn = 0;         // 0: four times hidden
  bool gated = false;
  std::int64_t vocabulary = 51200;
  bool untied = false;
  bool flash_attention = false;
  std::int64_t prompt = 512;        // tokens of each sequence
  std::int64_t output_tokens = 32;  // that are generated for each
  std::int64_t experts = 0;         // of a layer; 0: layers are dense
  std::int64_t top_k = 2;           // experts of a token
  std::int64_t expert_ffn = 0;      // 0: as ffn
  double expert_skew = 0;           // of their popularity: Zipf's exponent
  std::string expert_popularity;    // a file; instead of expert_skew
  std::int64_t gpu_batch = 0;       // sequences computed at a time; 0: searched
  std::int64_t gpu_batches = 0;     // of a block, for which weights are loaded once; 0: searched
  CpuAttention cpu_attention = CpuAttention::kSearch;
  Compression compress = Compression::kNone;
  // Percent on the accelerator, in the memory of the host and on its disk, as 20,80,0; empty:
  // searched.
  std::string weights_on, cache_on, activations_on;

  static const base::OptionTable<GenerationSetup>& table();

  // Sizes that are positive and divide each other. Usage error otherwise.
  base::Status check() const;

  bool compresses_weights() const {
    return compress == Compression::kWeights || compress == Compression::kBoth;
  }
  bool compresses_cache() const {
    return compress == Compression::kCache || compress == Compression::kBoth;
  }
  double head_size() const { return as_training(1).head_size(); }
  double kv_head_count() const { return static_cast<double>(kv_heads > 0 ? kv_heads : heads); }
  // Keys and values of one token in one layer, as numbers.
  double cache_elements() const { return 2 * kv_head_count() * head_size(); }
  double query_elements() const { return static_cast<double>(heads) * head_size(); }
  double expert_elements() const;   // of one expert's products
  double model_parameters() const;  // of the whole model
  // The same model as the kernels of training see it: one micro-batch of BATCH prompts, without
  // dropout.
  TrainingSetup as_training(std::int64_t batch) const;
};

inline constexpr double kFullBytes = 2;                 // of a number in 16 bits
inline constexpr double kPackedBytes = 0.5 + 4.0 / 64;  // of a number in a group of 64

}  // namespace egret::parallel
