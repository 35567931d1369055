// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/rounding.h"

#include <algorithm>
#include <bit>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/row_product.h"
#include "backends/cpu/loops/parallel_loop.h"
#include "backends/cpu/loops/vector_math.h"
#include "backends/cpu/plan/onednn.h"
#include "backends/cpu/plan/reorder.h"
#include "backends/cpu/regions/attention_group.h"

namespace egret::backends::cpu {
namespace {

bool is_f32(const ir::Graph& graph, ir::NodeId id) {
  return graph.node(id).type.dtype == ir::DType::kF32;
}

bool is_constant(const ir::Graph& graph, ir::NodeId id) {
  return graph.node(id).kind == ir::NodeKind::kConstant;
}

// Rounding two computed matrices in each run must pay off too.
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

// Constant weights are rounded once. Depthwise convolutions (filters of one channel) stay in f32.
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
      "--precision bf16 needs a processor with bf16 instructions (avx512_bf16 in /proc/cpuinfo). "
      "oneDNN found none, or ONEDNN_MAX_CPU_ISA disables them. Use --precision f32");
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

bool takes_lowering(const ir::Graph& graph, ir::NodeId id, OperandForm form) {
  const ir::Node& node = graph.node(id);
  const ir::Shape shape = node.type.shape();
  const bool convolves = node.attrs.find("pads") != nullptr;
  if (node.type.elements() == 0 || shape.size() > (convolves ? 5 : 6)) return false;
  if (form == OperandForm::kBF16) return bf16_availability().ok();
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  constexpr auto kVnni = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_vnni);
  if ((isa & kVnni) != kVnni) return false;
  const ir::Shape a = graph.node(node.inputs[0]).type.shape();
  const ir::Shape b = graph.node(node.inputs[1]).type.shape();
  if (!convolves) return b.size() == 2 && a.size() == shape.size();
  // The bias is divided by scales while planning.
  return b[1] > 1 && (node.inputs.size() < 3 || is_constant(graph, node.inputs[2]));
}

Lowering lowering_of(const PlanBuilder& builder, ir::NodeId id) {
  const ir::Graph& graph = builder.graph();
  if (builder.given_form(id) != OperandForm::kF32) {
    const Lowering& lowering = builder.lowerings[id.index()];
    // Only the weights of such a product are rounded, by its own kernel.
    const bool of_rows = lowering.form == OperandForm::kBF16 && is_row_product(graph, id) &&
                         is_constant(graph, graph.node(id).inputs[1]);
    return of_rows ? Lowering() : lowering;
  }
  const bool bf16 = builder.options().precision == Precision::kBF16 &&
                    takes_bf16(graph, id, builder.may_take_winograd());
  return {.form = bf16 ? OperandForm::kBF16 : OperandForm::kF32};
}

// The values that never need an f32 form: storing them in less saves a rounding step and at least
// half of the memory traffic.
std::vector<Lowering> written_forms(const PlanBuilder& builder, std::span<const Group> groups) {
  // A value qualifies if its maker has inputs of a form and all its readers read it in that form,
  // as first input.
  const ir::Graph& graph = builder.graph();
  std::vector<OperandForm> made(graph.size(), OperandForm::kF32);
  std::vector<Lowering> read(graph.size());
  std::vector<bool> otherwise(graph.size(), false);
  for (const Group& group : groups) {
    const Lowering lowering =
        is_attention(graph, group) ? Lowering() : lowering_of(builder, group.anchor());
    made[group.root().index()] = lowering.form;
    for (const ir::NodeId id : group.nodes) {
      const std::vector<ir::NodeId>& inputs = graph.node(id).inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const std::size_t value = inputs[k].index();
        const bool rounded = lowering.form != OperandForm::kF32 && id == group.anchor() && k == 0;
        Lowering form{.form = lowering.form};
        if (form.form == OperandForm::kI8) {
          form.scale = lowering.scale;
          form.is_signed = lowering.is_signed;
        }
        const bool first = read[value].form == OperandForm::kF32;
        if (!rounded || (!first && read[value] != form)) {
          otherwise[value] = true;
        } else {
          read[value] = form;
        }
      }
    }
  }
  for (const auto& output : graph.outputs()) otherwise[output.node.index()] = true;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (otherwise[i] || made[i] != read[i].form) read[i] = {};
  }
  return read;
}

}  // namespace egret::backends::cpu
