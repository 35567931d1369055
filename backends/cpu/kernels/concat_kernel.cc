// SPDX-License-Identifier: Apache-2.0
// Concatenation. Where the parts lie one behind the other (no axis of size above 1 outside the
// concatenated one), they are computed in place inside the result. Parts that are the parts of an
// earlier concatenation take it along, so that a chain of them (DenseNet) grows in one buffer. The
// others are copied from where they lie, whatever their layout. Halves of blocks of channels that
// fill whole blocks together are copied block by block.
#include <algorithm>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/plan/copy_step.h"

namespace egret::backends::cpu {
namespace {

constexpr std::int64_t kFewestHalved = 16;  // channels of a block whose halves are copied alone

// Whether the parts are halves of blocks of channels that together fill whole ones, and lie so.
bool are_half_blocks(const PlanBuilder& builder, const ir::Node& node, std::size_t axis) {
  if (axis != 1 || node.type.rank() < 3 || node.type.dtype != ir::DType::kF32) return false;
  const std::int64_t block = builder.place(node.inputs[0]).layout.block;
  const auto is_multiple = [](std::int64_t channels, std::int64_t of) {
    return channels % of == 0;
  };
  const auto fits = [&](ir::NodeId input) {
    return builder.place(input).layout.block == block &&
           is_multiple(builder.node(input).type.shape()[1], block / 2);
  };
  const auto is_whole = [&](ir::NodeId input) {
    return is_multiple(builder.node(input).type.shape()[1], block);
  };
  return block >= kFewestHalved && is_multiple(node.type.shape()[1], block) &&
         std::ranges::all_of(node.inputs, fits) && !std::ranges::all_of(node.inputs, is_whole);
}

// The layout that most of the data already has; blocked only if all parts are whole blocks.
Layout choose_layout(const PlanBuilder& builder, const ir::Node& node, std::size_t axis) {
  const ir::Shape shape = node.type.shape();
  if (shape.size() < 3 || node.type.dtype != ir::DType::kF32) return row_major(shape);
  std::int64_t block = 1;
  for (const ir::NodeId input : node.inputs)
    block = std::max(block, builder.place(input).layout.block);
  const bool whole_blocks = block > 1 && shape[1] % block == 0 &&
                            (axis != 1 || std::ranges::all_of(node.inputs, [&](ir::NodeId input) {
                               return builder.node(input).type.shape()[1] % block == 0;
                             }));
  const Layout options[] = {row_major(shape), channels_last(shape),
                            channel_blocked(shape, std::max<std::int64_t>(block, 8))};
  std::int64_t bytes[3] = {0, 0, 0};
  for (const ir::NodeId input : node.inputs) {
    const Operand& home = builder.place(input);
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

// The layout of a part that continues the whole's, with the part's own sizes.
Layout part_layout(const Layout& whole, const ir::Shape& shape, const ir::Shape& part) {
  if (whole.block > 1) return channel_blocked(part, whole.block);
  return is_row_major(whole, shape) ? row_major(part) : channels_last(part);
}

struct Part {
  ir::NodeId input;
  Layout layout;  // that the whole gives it
  std::int64_t offset;
};

// Computes the first so many parts inside the whole: those that fill a buffer together, or the
// first alone, reordered. 0 where it has to be copied.
std::size_t place_run(PlanBuilder& builder, std::span<const Part> parts, const Operand& whole) {
  std::vector<Operand> values;
  for (const Part& part : parts) {
    const Operand* home = builder.find_home(part.input, part.layout);
    if (home == nullptr || !builder.follows(values.empty() ? nullptr : &values.back(), *home))
      break;
    values.push_back(*home);
  }
  if (!values.empty()) {
    const std::size_t placed = builder.place_inside(values, whole, parts[0].offset);
    if (placed > 0) return placed;
  }
  const Part& first = parts[0];
  if (builder.is_constant(first.input) || builder.find_home(first.input, first.layout) != nullptr)
    return 0;
  const Operand reordered = builder.in_layout(first.input, first.layout);
  return builder.place_inside(std::span(&reordered, 1), whole, first.offset);
}

// Straight from wherever it lies, whatever the layout.
void add_copy(PlanBuilder& builder, const Part& part, const Operand& whole) {
  const Operand* same = builder.find_home(part.input, part.layout);
  Operand source = same != nullptr ? *same : builder.home(part.input);
  if (source.layout.block > 1 && whole.layout.block > 1 &&
      source.layout.block != whole.layout.block)
    source = builder.in_row_major(part.input);
  Operand target = whole;
  target.type = source.type;
  target.offset += part.offset;
  const Operand touched[] = {source, target};
  builder.add(make_copy_step(source, target, builder.threads()), touched, "concat", "own:copy");
}

// Channels [first, first + count) of an operand in blocks, which lie in one block.
Operand channels_of(const Operand& operand, std::int64_t first, std::int64_t count) {
  const std::int64_t block = operand.layout.block;
  ir::Shape shape = operand.shape();
  shape[1] = count;
  Operand part = operand;
  part.offset += (first / block * operand.layout.strides[1] + first % block) *
                 static_cast<std::int64_t>(ir::byte_size(operand.type.dtype));
  part.type = ir::TensorType(operand.type.dtype, shape);
  part.layout.block = 1;
  part.layout.strides[1] = 1;
  return part;
}

// Copies what lies in one block on both sides at a time.
void add_block_copies(PlanBuilder& builder, ir::NodeId input, std::int64_t start,
                      const Operand& whole) {
  const Operand source = builder.in_layout(
      input, channel_blocked(builder.node(input).type.shape(), whole.layout.block));
  const std::int64_t block = whole.layout.block, channels = source.shape()[1];
  for (std::int64_t at = 0, count = 0; at < channels; at += count) {
    count = std::min({block - at % block, block - (start + at) % block, channels - at});
    const Operand from = channels_of(source, at, count), to = channels_of(whole, start + at, count);
    const Operand touched[] = {from, to};
    builder.add(make_copy_step(from, to, builder.threads()), touched, "concat", "own:copy");
  }
}

}  // namespace

base::Status make_concat_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.elements() == 0) return base::unsupported("an empty tensor");
  const auto axis = static_cast<std::size_t>(node.attrs.integer("axis"));
  const ir::Shape shape = node.type.shape();
  if (are_half_blocks(builder, node, axis)) {
    const std::int64_t block = builder.place(node.inputs[0]).layout.block;
    const Operand whole = builder.output(group.root(), channel_blocked(shape, block));
    std::int64_t start = 0;
    for (const ir::NodeId input : node.inputs) {
      add_block_copies(builder, input, start, whole);
      start += builder.node(input).type.shape()[1];
    }
    return base::ok();
  }
  const Layout layout = choose_layout(builder, node, axis);
  const auto element = static_cast<std::int64_t>(ir::byte_size(node.type.dtype));
  const std::int64_t blocks = axis == 1 ? layout.block : 1;

  // Parts are contiguous in the whole when the axis has the largest stride of all.
  bool contiguous = true;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != axis && shape[i] > 1 && layout.strides[i] > layout.strides[axis]) contiguous = false;
  }
  // A concatenated axis of stride 1 is the innermost one in memory. Its parts interleave unless all
  // other axes have size 1.
  if (layout.block == 1 && layout.strides[axis] == 1 && shape.size() > 1 && axis != 0) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      contiguous = contiguous && (i == axis || shape[i] == 1);
  }

  const Operand whole = builder.output(group.root(), layout);
  std::vector<Part> parts;
  std::int64_t start = 0;
  for (const ir::NodeId input : node.inputs) {
    const ir::TensorType& type = builder.node(input).type;
    if (type.elements() == 0) continue;
    const std::int64_t offset = start / blocks * layout.strides[axis] * element;
    parts.push_back({input, part_layout(layout, shape, type.shape()), offset});
    start += type.shape()[axis];
  }
  // Each step places as many parts as possible in place, or copies one.
  for (std::size_t i = 0; i < parts.size();) {
    const std::size_t placed =
        contiguous ? place_run(builder, std::span(parts).subspan(i), whole) : 0;
    if (placed == 0) add_copy(builder, parts[i], whole);
    i += std::max<std::size_t>(placed, 1);
  }
  return base::ok();
}

}  // namespace egret::backends::cpu
