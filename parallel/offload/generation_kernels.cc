// SPDX-License-Identifier: Apache-2.0
#include "parallel/offload/generation_kernels.h"

#include <algorithm>

#include "parallel/transformer/transformer_kernels.h"

namespace egret::parallel {
namespace {

constexpr Precision kPrecision = Precision::kF16;

// The device waits for the host that issues its kernels.
double seconds(const KernelList& list) {
  const KernelTime time = list.time();
  return std::max(time.device_s, time.tail_s);
}

void add_feed_forward(KernelList& list, const GenerationSetup& setup, double tokens, double ffn) {
  const auto hidden = static_cast<double>(setup.hidden);
  list.matmul("feed-forward in", 1, tokens, (setup.gated ? 2 : 1) * ffn, hidden);
  list.memory("activation", (setup.gated ? 3 : 2) * tokens * ffn * kFullBytes);
  list.matmul("feed-forward out", 1, tokens, hidden, ffn);
}

double score_bytes(const GenerationSetup& setup, double context) {
  return setup.flash_attention ? 0 : 2 * static_cast<double>(setup.heads) * context * kFullBytes;
}

double attention_flops(const GenerationSetup& setup, double context) {
  return 4 * setup.query_elements() * context;
}

double expert_flops(const GenerationSetup& setup, double tokens) {
  return 2 * setup.expert_elements() * tokens;
}

}  // namespace

double prefill_layer_s(const HostedSystem& system, const GenerationSetup& setup,
                       std::int64_t batch) {
  return seconds(layer_forward(system, setup.as_training(batch)));
}

double prefill_attention_s(const HostedSystem& system, const GenerationSetup& setup,
                           std::int64_t batch) {
  KernelList list(system, kPrecision);
  const KernelList whole = layer_forward(system, setup.as_training(batch));
  for (const Kernel& kernel : whole.kernels()) {
    if (!kernel.name.starts_with("feed-forward") && kernel.name != "activation") list.add(kernel);
  }
  return seconds(list);
}

DecodeParts decode_layer_s(const HostedSystem& system, const GenerationSetup& setup,
                           std::int64_t batch, bool feed_forward) {
  const auto tokens = static_cast<double>(batch);
  const auto hidden = static_cast<double>(setup.hidden);
  const double hidden_bytes = tokens * hidden * kFullBytes;
  const double columns = setup.query_elements() + setup.cache_elements();
  KernelList before(system, kPrecision), after(system, kPrecision);
  before.memory("normalization", 2 * hidden_bytes);
  before.matmul("queries, keys, values", 1, tokens, columns, hidden);
  before.memory("bias and layout", 2 * tokens * columns * kFullBytes);
  after.matmul("projection", 1, tokens, hidden, setup.query_elements());
  after.memory("bias, add", 3 * hidden_bytes);
  after.memory("normalization", 2 * hidden_bytes);
  if (feed_forward)
    add_feed_forward(after, setup, tokens, static_cast<double>(setup.as_training(1).ffn_size()));
  after.memory("bias, add", 3 * hidden_bytes);
  return {seconds(before), seconds(after)};
}

double attention_s(const HostedSystem& system, const GenerationSetup& setup, double sequences,
                   double context) {
  if (sequences <= 0) return 0;
  const double groups = sequences * setup.kv_head_count();
  const double queries = static_cast<double>(setup.heads) / setup.kv_head_count();
  KernelList list(system, kPrecision);
  list.attention_matmul("scores", groups, queries, context, setup.head_size());
  if (!setup.flash_attention)
    list.memory("scale, softmax", sequences * score_bytes(setup, context));
  list.attention_matmul("context", groups, queries, setup.head_size(), context);
  return seconds(list);
}

double least_attention_s(const HostedSystem& system, const GenerationSetup& setup, double context) {
  const Accelerator& device = system.accelerator;
  const double bytes = setup.cache_elements() * context * kFullBytes + score_bytes(setup, context);
  return std::max(bytes / (device.bytes_per_second * device.memory_efficiency),
                  attention_flops(setup, context) /
                      (device.peak(kPrecision) * device.product_efficiency(kPrecision)));
}

double host_attention_s(const HostedSystem& system, const GenerationSetup& setup, double sequences,
                        double context) {
  if (sequences <= 0) return 0;
  return sequences * system.host->seconds(attention_flops(setup, context),
                                          setup.cache_elements() * context * kFullBytes) +
         system.host->seconds_per_kernel;
}

double head_s(const HostedSystem& system, const GenerationSetup& setup, std::int64_t batch,
              double tokens) {
  const auto rows = static_cast<double>(batch);
  const auto hidden = static_cast<double>(setup.hidden);
  const auto vocabulary = static_cast<double>(setup.vocabulary);
  KernelList list(system, kPrecision);
  list.memory("embedding", 2 * tokens * hidden * kFullBytes);
  list.memory("normalization", 2 * rows * hidden * kFullBytes);
  list.matmul("logits", 1, rows, vocabulary, hidden);
  list.memory("choice", rows * vocabulary * kFullBytes);
  return seconds(list);
}

double unpacking_s(const HostedSystem& system, double numbers) {
  return numbers <= 0 ? 0
                      : system.accelerator.memory_seconds(numbers * (kPackedBytes + kFullBytes));
}

double expert_s(const HostedSystem& system, const GenerationSetup& setup, double tokens) {
  KernelList list(system, kPrecision);
  add_feed_forward(list, setup, tokens,
                   static_cast<double>(setup.as_training(1).expert_ffn_size()));
  return seconds(list);
}

double host_expert_s(const HostedSystem& system, const GenerationSetup& setup, double tokens) {
  return system.host->seconds(expert_flops(setup, tokens), setup.expert_elements() * kFullBytes) +
         system.host->seconds_per_kernel;
}

}  // namespace egret::parallel
