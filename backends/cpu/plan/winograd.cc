// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/winograd.h"

#include <algorithm>
#include <limits>
#include <set>

#include "backends/cpu/plan/onednn.h"

namespace egret::backends::cpu {

bool has_large_tiles(std::string_view implementation) {
  return implementation.find("wino_4x3") != std::string_view::npos;
}

bool has_two_product_units() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto kAmx = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_amx);
  return (isa & kAmx) == kAmx;
}

// Large tiles lose where there are few channels (1.24 times the direct kernel's time with 32 of
// 147x147, AVX-512, one thread) or few pixels (1.3 with 512 channels of 14x16).
//
// Small tiles lose where direct kernels are fast and few pixels share the larger weights (448
// channels of 8x8, one thread: 2.35 ms, 1.40 directly; two threads: 0.68 and 0.73).
bool winograd_pays(std::string_view implementation, std::int64_t channels, std::int64_t pixels) {
  if (has_large_tiles(implementation)) return channels >= 64 && pixels >= 400;
  return !has_two_product_units() || pixels >= 100;
}

WinogradBudget::WinogradBudget(const ir::Graph& graph, bool limited) {
  if (!limited) {
    left_ = most_scratch_ = std::numeric_limits<std::int64_t>::max();
    return;
  }
  std::set<std::size_t> counted;
  std::int64_t constants = 0, largest = 0;
  for (const ir::Node& node : graph.nodes()) {
    if (!node.type.is_concrete()) continue;
    if (node.kind == ir::NodeKind::kConstant) constants += node.type.bytes();
    if (node.op == nullptr) continue;
    largest = std::max(largest, node.type.bytes());
    if (node.op->name() != "conv" && node.op->name() != "fused_conv") continue;
    const ir::Node& weights = graph.node(node.inputs[1]);
    const ir::Shape shape = weights.type.shape();
    if (shape.size() == 4 && shape[2] == 3 && shape[3] == 3 &&
        counted.insert(node.inputs[1].index()).second)
      left_ += weights.type.bytes();
  }
  constexpr std::int64_t kLeast = 8 << 20;
  left_ = std::max(left_ + constants / 4 + largest / 2, kLeast);
  most_scratch_ = std::max(constants * 3 / 10 + largest, kLeast);
}

bool WinogradBudget::spend(std::int64_t weights, std::int64_t scratch) {
  if (scratch > most_scratch_) return false;
  // All kernels share one scratch buffer: only growth beyond the largest so far is paid.
  const std::int64_t more = std::max<std::int64_t>(0, scratch - scratch_);
  if (weights + more > left_) return false;
  left_ -= weights + more;
  scratch_ += more;
  return true;
}

}  // namespace egret::backends::cpu
