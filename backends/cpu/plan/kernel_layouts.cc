// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/kernel_layouts.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "backends/cpu/loops/pointwise_program.h"
#include "backends/cpu/plan/layout_forms.h"

namespace egret::backends::cpu {
namespace {

constexpr std::array kAnyForm = {LayoutForm::kRowMajor, LayoutForm::kChannelsLast,
                                 LayoutForm::kBlocked};

// What padding of channels to whole blocks wastes is small.
bool fits(LayoutForm form, const ir::TensorType& type) {
  const std::int64_t block = preferred_block();
  return form != LayoutForm::kBlocked || type.shape()[1] % block == 0 ||
         type.shape()[1] > 8 * block;
}

// All values with forms that the piece reads.
bool reads_fit(LayoutForm form, const ir::Graph& piece) {
  return std::ranges::all_of(piece.nodes(), [&](const ir::Node& node) {
    return node.kind != ir::NodeKind::kInput || !has_layout_forms(node.type) ||
           fits(form, node.type);
  });
}

bool is_convolution(std::string_view op) {
  return op == "conv" || op == "fused_conv" || op == "conv_transpose";
}

// Padding by one value or with the edge, of the axes of space alone: channels may be in blocks.
bool pads_space(const ir::Node& node) {
  if (node.op->name() != "pad") return false;
  const auto leaves_channels = [&](const char* side) {
    const ir::Integers& amounts = node.attrs.integers(side);
    return amounts.size() > 2 && amounts[1] == 0;
  };
  const std::string& mode = node.attrs.text("mode");
  return (mode == "constant" || mode == "edge") && leaves_channels("before") &&
         leaves_channels("after");
}

// Kernels that store in the layout that they read.
bool keeps_layout(const ir::Graph& piece, ir::NodeId id) {
  constexpr std::array<std::string_view, 6> kKeeping = {"max_pool", "avg_pool",   "concat",
                                                        "lrn",      "batch_norm", "resize"};
  const ir::Node& node = piece.node(id);
  return is_pointwise(piece, id) || pads_space(node) ||
         std::ranges::count(kKeeping, node.op->name()) > 0;
}

bool reads_any_layout(std::string_view op) {
  constexpr std::array<std::string_view, 5> kReading = {"reduce_sum", "reduce_mean", "reduce_max",
                                                        "reduce_min", "reshape"};
  return std::ranges::count(kReading, op) > 0;
}

// From or to channels innermost: the same elements in the same order.
bool turns_channels(const ir::Node& node) {
  if (node.op->name() != "transpose") return false;
  const ir::Integers& perm = node.attrs.integers("perm");
  return perm == ir::Integers{0, 2, 3, 1} || perm == ir::Integers{0, 3, 1, 2};
}

}  // namespace

std::vector<KernelLayouts> kernel_layouts(const ir::Graph& piece) {
  std::vector<KernelLayouts> layouts;
  if (piece.outputs().empty()) return {KernelLayouts()};
  const ir::TensorType& stored = piece.node(piece.outputs()[0].node).type;
  const bool reads = std::ranges::any_of(piece.nodes(), [](const ir::Node& node) {
    return node.kind == ir::NodeKind::kInput && has_layout_forms(node.type);
  });
  const bool writes = has_layout_forms(stored);
  std::int64_t channels = std::numeric_limits<std::int64_t>::max();  // least of a convolution
  const auto add = [&](LayoutForm from, LayoutForm to) {
    const KernelLayouts one{from, to};
    if (std::ranges::count(layouts, one) == 0) layouts.push_back(one);
  };
  bool convolves = false, transposes = false, keeps = true, reduces = false;
  const ir::Node* turn = nullptr;
  std::size_t operators = 0;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const ir::Node& node = piece.node(ir::NodeId(i));
    if (node.kind != ir::NodeKind::kOperator) continue;
    ++operators;
    if (is_convolution(node.op->name())) {
      convolves = true;
      transposes = transposes || node.op->name() == "conv_transpose";
      channels = std::min(channels, piece.node(node.inputs[0]).type.shape()[1]);
    }
    reduces = reduces || reads_any_layout(node.op->name());
    const bool can_keep = is_convolution(node.op->name()) || reads_any_layout(node.op->name()) ||
                          keeps_layout(piece, ir::NodeId(i));
    keeps = keeps && can_keep;
    if (turns_channels(node)) turn = &node;
  }
  if (turn != nullptr && operators == 1 && reads && writes) {
    const bool to_last = turn->attrs.integers("perm") == ir::Integers{0, 2, 3, 1};
    add(to_last ? LayoutForm::kChannelsLast : LayoutForm::kRowMajor,
        to_last ? LayoutForm::kRowMajor : LayoutForm::kChannelsLast);
  }
  // Row-major convolutions are those that are left without others, save transposed ones.
  if (!keeps || !convolves || transposes) add(LayoutForm::kRowMajor, LayoutForm::kRowMajor);
  if (!keeps) return layouts;
  for (const LayoutForm form : kAnyForm) {
    if (reads && (reduces || !writes)) {
      if (reads_fit(form, piece)) add(form, LayoutForm::kRowMajor);
      continue;
    }
    if (!writes || !fits(form, stored)) continue;
    if (convolves && form == LayoutForm::kRowMajor) continue;
    // A few channels are read as they come.
    if (convolves && form == LayoutForm::kBlocked && channels < preferred_block())
      add(LayoutForm::kRowMajor, form);
    if (reads && reads_fit(form, piece)) add(form, form);
  }
  if (layouts.empty()) layouts.emplace_back();
  return layouts;
}

}  // namespace egret::backends::cpu
