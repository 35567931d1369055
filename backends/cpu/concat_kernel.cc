// SPDX-License-Identifier: Apache-2.0
// Concatenation. Where the parts lie one behind the other (no axis of size above 1 outside the
// concatenated one), they are computed in place inside the result and nothing is copied.
#include <algorithm>

#include "backends/cpu/copy_step.h"
#include "backends/cpu/kernel_table.h"

namespace egret::backends::cpu {
namespace {

// The layout that most of the data already has; blocked only if all parts are whole blocks.
Layout choose_layout(const PlanBuilder& builder, const ir::Node& node, std::size_t axis) {
  const ir::Shape shape = node.type.shape();
  if (shape.size() < 3 || node.type.dtype != ir::DType::kF32) return row_major(shape);
  std::int64_t block = 1;
  for (const ir::NodeId input : node.inputs)
    block = std::max(block, builder.home(input).layout.block);
  const bool whole_blocks = block > 1 && shape[1] % block == 0 &&
                            (axis != 1 || std::ranges::all_of(node.inputs, [&](ir::NodeId input) {
                               return builder.node(input).type.shape()[1] % block == 0;
                             }));
  const Layout options[] = {row_major(shape), channels_last(shape),
                            channel_blocked(shape, std::max<std::int64_t>(block, 8))};
  std::int64_t bytes[3] = {0, 0, 0};
  for (const ir::NodeId input : node.inputs) {
    const Operand& home = builder.home(input);
    const ir::Shape part = home.shape();
    const Layout forms[] = {row_major(part), channels_last(part),
                            channel_blocked(part, std::max<std::int64_t>(block, 8))};
    for (int i = 0; i < (whole_blocks ? 3 : 2); ++i) {
      if (same_layout(home.layout, forms[i], part)) bytes[i] += home.type.bytes();
    }
  }
  // On a tie the later one: small tensors count as all three, and the rest of the graph is blocked.
  const std::ptrdiff_t last = whole_blocks ? 3 : 2;
  std::ptrdiff_t best = 0;
  for (std::ptrdiff_t i = 1; i < last; ++i) {
    if (bytes[i] > bytes[best] || (i == 2 && bytes[i] == bytes[best])) best = i;
  }
  return options[best];
}

Layout part_layout(const Layout& whole, const ir::Shape& shape, const ir::Shape& part) {
  if (whole.block > 1) return channel_blocked(part, whole.block);
  return is_row_major(whole, shape) ? row_major(part) : channels_last(part);
}

}  // namespace

base::Status make_concat_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.elements() == 0) return base::unsupported("an empty tensor");
  const auto axis = static_cast<std::size_t>(node.attrs.integer("axis"));
  const ir::Shape shape = node.type.shape();
  const Layout layout = choose_layout(builder, node, axis);
  const auto element = static_cast<std::int64_t>(ir::byte_size(node.type.dtype));
  const std::int64_t blocks = axis == 1 ? layout.block : 1;

  // Parts are contiguous in the whole when the axis has the largest stride of all.
  bool contiguous = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis && shape[i] > 1 && layout.strides[i] > layout.strides[axis]) contiguous = false;
  }
  if (layout.block == 1 && layout.strides[axis] == 1 && shape.size() > 1 && axis != 0) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      contiguous = contiguous && (i == axis || shape[i] == 1);
  }

  const Operand whole = builder.output(group.root(), layout);
  std::int64_t start = 0;
  for (const ir::NodeId input : node.inputs) {
    const ir::Shape part = builder.node(input).type.shape();
    if (builder.node(input).type.elements() == 0) continue;
    Operand target = whole;
    target.type = builder.node(input).type;
    const std::int64_t offset = start / blocks * layout.strides[axis] * element;
    target.offset += offset;
    start += part[axis];
    const Layout wanted = part_layout(layout, shape, part);
    if (contiguous && !builder.is_constant(input)) {
      const Operand value = builder.in_layout(input, wanted);
      if (builder.place_inside(value, whole, offset)) continue;
    }
    // Straight from wherever it lies, whatever the layout.
    const Operand* same = builder.find_home(input, wanted);
    Operand source = same != nullptr ? *same : builder.home(input);
    if (source.layout.block > 1 && layout.block > 1 && source.layout.block != layout.block)
      source = builder.in_row_major(input);
    const Operand touched[] = {source, target};
    builder.add(make_copy_step(source, target, builder.threads()), touched, "concat", "own:copy");
  }
  return base::ok();
}

}  // namespace egret::backends::cpu
