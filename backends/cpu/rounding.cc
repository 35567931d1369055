// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/rounding.h"

#include <algorithm>
#include <bit>

#include "backends/cpu/attention_kernel.h"
#include "backends/cpu/kernel_table.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/parallel_loop.h"
#include "backends/cpu/reorder.h"
#include "backends/cpu/row_product.h"
#include "backends/cpu/vector_math.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kBlock = 16 << 10;  // elements that a thread takes at a time

EGRET_VECTOR_CLONES
void narrow(const float* from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(from[i]);
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const std::uint32_t nan = (bits >> 16) | 0x40U;
    to[i] = static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
  }
}

EGRET_VECTOR_CLONES
void widen(const std::uint16_t* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
}

// All elements, padding too, between two operands of one dense layout.
class RoundStep : public Step {
 public:
  RoundStep(const Operand& source, const Operand& target, int threads)
      : source_(source),
        target_(target),
        narrows_(target.type.dtype == ir::DType::kBF16),
        count_(span_elements(source.layout, source.shape())),
        threads_(threads) {}

  base::Status run(const Addresses& addresses) override {
    parallel_for(threads_, (count_ + kBlock - 1) / kBlock, [&](std::int64_t block) {
      const std::int64_t first = block * kBlock;
      const std::int64_t count = std::min(kBlock, count_ - first);
      if (narrows_) {
        narrow(addresses.at(source_) + first, addresses.at<std::uint16_t>(target_) + first, count);
      } else {
        widen(addresses.at<std::uint16_t>(source_) + first, addresses.at(target_) + first, count);
      }
    });
    return base::ok();
  }

 private:
  Operand source_, target_;
  bool narrows_;
  std::int64_t count_;
  int threads_;
};

bool is_one_block(const Operand& source, const Operand& target) {
  return source.type.dtype != target.type.dtype &&
         same_layout(source.layout, target.layout, source.shape()) &&
         is_dense(source.layout, source.shape());
}

bool is_f32(const ir::Graph& graph, ir::NodeId id) {
  return graph.node(id).type.dtype == ir::DType::kF32;
}

bool is_constant(const ir::Graph& graph, ir::NodeId id) {
  return graph.node(id).kind == ir::NodeKind::kConstant;
}

// To round two matrices in each run takes time too.
bool product_takes_bf16(const ir::Graph& graph, const ir::Node& node) {
  constexpr std::int64_t kLeast = 64;
  if (is_constant(graph, node.inputs[1])) return true;
  const ir::Shape a = graph.node(node.inputs[0]).type.shape();
  const std::int64_t rows = a.size() < 2 ? 1 : a[a.size() - 2];
  return rows >= kLeast && a.back() >= kLeast && node.type.shape().back() >= kLeast;
}

// Winograd's tiles of 4x4 in f32 take 0.5-1.0 of the time of the direct kernels in bf16 where
// there are many channels and pixels, those of 2x2 1.0-2.4 (oneDNN 2.6.3, AVX-512 with bf16, one
// thread).
bool winograd_is_faster(const ir::Graph& graph, const ir::Node& node) {
  const auto all = [](const ir::Integers& numbers, std::int64_t wanted) {
    return std::ranges::all_of(numbers, [=](std::int64_t number) { return number == wanted; });
  };
  const ir::Shape weights = graph.node(node.inputs[1]).type.shape();
  const ir::Shape target = node.type.shape();
  if (weights.size() != 4 || weights[2] != 3 || weights[3] != 3 || weights[1] < 64 ||
      weights[0] < 64 || node.attrs.integer("group") != 1 ||
      !all(node.attrs.integers("strides"), 1) || !all(node.attrs.integers("dilations"), 1))
    return false;
  const std::int64_t pixels = target[0] * target[2] * target[3];
  return pixels >= 400 && (weights[0] * weights[1] >= 96 * 96 || pixels >= 10'000);
}

bool convolution_takes_bf16(const ir::Graph& graph, const ir::Node& node, bool winograd) {
  const ir::Shape weights = graph.node(node.inputs[1]).type.shape();
  return is_constant(graph, node.inputs[1]) && weights[1] > 1 &&
         !(winograd && winograd_is_faster(graph, node));
}

}  // namespace

base::Status bf16_availability() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto kBF16 = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_bf16);
  if ((isa & kBF16) == kBF16) return base::ok();
  return base::unavailable(
      "--precision bf16: oneDNN finds no bf16 instructions (avx512_bf16) on this processor, or "
      "ONEDNN_MAX_CPU_ISA keeps it from them; leave the option out, or run on a processor whose "
      "/proc/cpuinfo lists avx512_bf16");
}

bool takes_bf16(const ir::Graph& graph, ir::NodeId id, bool winograd) {
  const ir::Node& node = graph.node(id);
  if (node.kind != ir::NodeKind::kOperator) return false;
  const KernelRow* row = find_kernel(node.op->name());
  if (row == nullptr || row->epilogue != Epilogue::kPointwise) return false;
  if (!is_f32(graph, id) || !is_f32(graph, node.inputs[0]) || !is_f32(graph, node.inputs[1]))
    return false;
  if (is_constant(graph, node.inputs[1]) && is_row_product(graph, id)) return false;
  return node.attrs.find("pads") != nullptr ? convolution_takes_bf16(graph, node, winograd)
                                            : product_takes_bf16(graph, node);
}

std::vector<bool> values_in_bf16(const ir::Graph& graph, std::span<const Group> groups,
                                 bool winograd) {
  std::vector<bool> made(graph.size(), false), otherwise(graph.size(), false);
  std::vector<bool> read(graph.size(), false);
  for (const Group& group : groups) {
    const bool lowered = !is_attention(graph, group) && takes_bf16(graph, group.anchor(), winograd);
    if (lowered) made[group.root().index()] = true;
    for (const ir::NodeId id : group.nodes) {
      const std::vector<ir::NodeId>& inputs = graph.node(id).inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const bool rounded = lowered && id == group.anchor() && k == 0;
        (rounded ? read : otherwise)[inputs[k].index()] = true;
      }
    }
  }
  for (const auto& output : graph.outputs()) otherwise[output.node.index()] = true;
  for (std::size_t i = 0; i < graph.size(); ++i) made[i] = made[i] && read[i] && !otherwise[i];
  return made;
}

base::Status add_rounding(PlanBuilder& builder, const Operand& source, const Operand& target) {
  if (!is_one_block(source, target)) {
    const auto rank = source.type.rank();
    if (rank < 1 || rank > 6) return base::unsupported("a reorder of that many axes");
    return guarded([&] { return add_onednn_reorder(builder, source, target); });
  }
  const Operand touched[] = {source, target};
  builder.add(std::make_unique<RoundStep>(source, target, builder.threads()), touched, "reorder",
              target.type.dtype == ir::DType::kBF16 ? "own:round" : "own:widen");
  return base::ok();
}

base::Status round_now(PlanBuilder& builder, const Operand& source, const Operand& target) {
  EGRET_CHECK(is_one_block(source, target), "weights to be rounded are laid out first");
  RoundStep step(source, target, builder.threads());
  return builder.run_now(step);
}

}  // namespace egret::backends::cpu
