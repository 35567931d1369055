// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/winograd.h"

#include <algorithm>
#include <limits>
#include <set>

#include "backends/cpu/onednn.h"

namespace egret::backends::cpu {

bool has_large_tiles(std::string_view implementation) {
  return implementation.find("wino_4x3") != std::string_view::npos;
}

bool has_two_product_units() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto kAmx = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_amx);
  return (isa & kAmx) == kAmx;
}

WinogradBudget::WinogradBudget(const ir::Graph& graph, bool limited) {
  if (!limited) {
    left_ = std::numeric_limits<std::int64_t>::max();
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
}

bool WinogradBudget::spend(std::int64_t weights, std::int64_t scratch) {
  const std::int64_t more = std::max<std::int64_t>(0, scratch - scratch_);
  if (weights + more > left_) return false;
  left_ -= weights + more;
  scratch_ += more;
  return true;
}

}  // namespace egret::backends::cpu
