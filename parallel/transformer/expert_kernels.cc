// SPDX-License-Identifier: Apache-2.0
#include "parallel/transformer/expert_kernels.h"

#include <algorithm>

#include "parallel/transformer/experts.h"
#include "parallel/transformer/segment_lists.h"
#include "parallel/transformer/transformer_kernels.h"

namespace egret::parallel {
namespace {

constexpr double kElement = 2;  // bytes of an activation
constexpr double kReal = 4;     // of the router's shares

struct ExpertSizes {
  explicit ExpertSizes(const TrainingSetup& setup)
      : rows(expert_rows(setup)),
        tokens(routed_tokens(setup)),
        hidden(static_cast<double>(setup.hidden)),
        experts(static_cast<double>(setup.experts)),
        here(experts / static_cast<double>(setup.expert_parallel)),
        inner(static_cast<double>(setup.expert_ffn_size()) /
              static_cast<double>(setup.expert_tensor_degree())),
        token_bytes(tokens * hidden * kElement),
        sent_bytes(rows.sent * hidden * kElement),
        computed_bytes(rows.computed * hidden * kElement),
        inner_bytes(rows.computed * inner * kElement) {}

  ExpertRows rows;
  double tokens;  // that this device routes
  double hidden, experts;
  double here;  // experts of this device
  double inner;
  double token_bytes, sent_bytes, computed_bytes, inner_bytes;
};

void exchange_tokens(KernelList& list, const System& system, const TrainingSetup& setup) {
  if (setup.expert_parallel == 1 || setup.overlap_experts) return;
  list.add({"all-to-all", KernelKind::kExpertExchange, expert_exchange_s(system.fabric, setup),
            system.accelerator.host_seconds_per_collective});
}

// Rows of one expert together, where they come from several ranks.
void sort_rows(KernelList& list, const TrainingSetup& setup, const ExpertSizes& z) {
  if (sorts_expert_rows(setup)) list.memory("sort by expert", 2 * z.computed_bytes);
}

void between_tensor_ranks(KernelList& list, const TrainingSetup& setup, const ExpertSizes& z,
                          bool gather) {
  list.collective(gather ? "all-gather of rows" : "reduce-scatter of rows",
                  gather ? CollectiveKind::kAllGather : CollectiveKind::kReduceScatter,
                  z.computed_bytes, {setup.expert_tensor_degree(), 1});
}

}  // namespace

void experts_forward(KernelList& list, const System& system, const TrainingSetup& setup) {
  const ExpertSizes z(setup);
  if (const auto& graphs = setup.layer_kernels) {
    segment_forward(list, setup, graphs->route);
    exchange_tokens(list, system, setup);
    between_tensor_ranks(list, setup, z, true);
    segment_forward(list, setup, graphs->experts);
    between_tensor_ranks(list, setup, z, false);
    exchange_tokens(list, system, setup);
    segment_forward(list, setup, graphs->combine);
    return;
  }
  list.matmul("router", 1, z.tokens, z.experts, z.hidden);
  list.memory("softmax, best experts", 4 * z.tokens * z.experts * kReal);
  list.memory("permute", z.token_bytes + z.sent_bytes);
  exchange_tokens(list, system, setup);
  between_tensor_ranks(list, setup, z, true);
  sort_rows(list, setup, z);
  list.matmul("experts in", z.here, z.rows.per_expert, (setup.gated ? 2 : 1) * z.inner, z.hidden);
  list.memory("activation", (setup.gated ? 3 : 2) * z.inner_bytes);
  list.matmul("experts out", z.here, z.rows.per_expert, z.hidden, z.inner);
  sort_rows(list, setup, z);
  between_tensor_ranks(list, setup, z, false);
  exchange_tokens(list, system, setup);
  list.memory("weighted sum", z.sent_bytes + z.token_bytes);
}

void experts_backward(KernelList& list, const System& system, const TrainingSetup& setup) {
  const ExpertSizes z(setup);
  if (const auto& graphs = setup.layer_kernels) {
    segment_backward(list, setup, graphs->combine);
    exchange_tokens(list, system, setup);
    between_tensor_ranks(list, setup, z, true);
    segment_backward(list, setup, graphs->experts);
    between_tensor_ranks(list, setup, z, false);
    exchange_tokens(list, system, setup);
    segment_backward(list, setup, graphs->route);
    return;
  }
  // Gradients of rows and of their weights, which need the rows.
  list.memory("weighted sum'", z.token_bytes + 2 * z.sent_bytes);
  exchange_tokens(list, system, setup);
  between_tensor_ranks(list, setup, z, true);
  sort_rows(list, setup, z);
  product_backward(list, setup, z.here, z.rows.per_expert, z.hidden, z.inner);
  list.memory("activation'", (setup.gated ? 5 : 3) * z.inner_bytes);
  product_backward(list, setup, z.here, z.rows.per_expert, (setup.gated ? 2 : 1) * z.inner,
                   z.hidden);
  sort_rows(list, setup, z);
  between_tensor_ranks(list, setup, z, false);
  exchange_tokens(list, system, setup);
  list.memory("permute'", z.sent_bytes + z.token_bytes);
  list.memory("softmax, best experts'", 4 * z.tokens * z.experts * kReal);
  product_backward(list, setup, 1, z.tokens, z.experts, z.hidden);
}

void hide_exchanges(KernelList& layer, const System& system, const TrainingSetup& setup,
                    double exchanges) {
  if (setup.expert_parallel == 1 || !setup.overlap_experts) return;
  const double exchange_s = exchanges * expert_exchange_s(system.fabric, setup);
  const double computed_s = layer.time().device_s;
  const double hidden_s = std::min(exchange_s, computed_s);
  layer.add({"exposed all-to-all", KernelKind::kExpertExchange,
             exchange_s - hidden_s + hidden_s * system.accelerator.overlap_slowdown,
             exchanges * system.accelerator.host_seconds_per_collective});
}

}  // namespace egret::parallel
