// SPDX-License-Identifier: Apache-2.0
// Padding with a constant: fill, then copy the middle. Padding with the edge: copy the middle, then
// its outermost elements, axis by axis.
#include <algorithm>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/plan/copy_step.h"

namespace egret::backends::cpu {
namespace {

// The margins before and behind the middle repeat its first and last elements: the copy reads them
// with stride 0. An axis is copied with the margins of the axes before it.
void add_edges(PlanBuilder& builder, const ir::Node& node, const ir::TensorType& middle,
               const Operand& output) {
  const ir::Integers& before = node.attrs.integers("before");
  const ir::Integers& after = node.attrs.integers("after");
  ir::Shape shape = middle.shape();
  ir::Integers start = before;
  const auto repeat = [&](std::size_t axis, std::int64_t from, std::int64_t to,
                          std::int64_t count) {
    if (count == 0) return;
    shape[axis] = count;
    const ir::TensorType margin(node.type.dtype, shape);
    start[axis] = from;
    Operand edge = box_of(output, margin, start);
    edge.layout.strides[axis] = 0;
    start[axis] = to;
    const Operand copy = box_of(output, margin, start);
    const Operand touched[] = {edge, copy};
    builder.add(make_copy_step(edge, copy, builder.threads()), touched, "pad", "own:copy");
  };
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t behind = before[axis] + shape[axis];
    repeat(axis, before[axis], 0, before[axis]);
    repeat(axis, behind - 1, behind, after[axis]);
    shape[axis] = node.type.shape()[axis];
    start[axis] = 0;
  }
}

}  // namespace

base::Status make_pad_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  const bool is_edge = node.attrs.text("mode") == "edge";
  if (node.attrs.text("mode") != "constant" && !is_edge)
    return base::unsupported("padding in mode " + node.attrs.text("mode"));
  const auto adds = [](std::int64_t amount) { return amount > 0; };
  const auto removes = [](std::int64_t amount) { return amount < 0; };
  if (std::ranges::any_of(node.attrs.integers("interior"), adds) ||
      std::ranges::any_of(node.attrs.integers("before"), removes) ||
      std::ranges::any_of(node.attrs.integers("after"), removes)) {
    return base::unsupported("padding between elements, or that removes some");
  }
  const ir::NodeId input = node.inputs[0];
  if (builder.node(input).type.elements() == 0) return base::unsupported("an empty tensor");
  Operand source = builder.home(input);
  const ir::Shape shape = node.type.shape();
  const ir::Integers& before = node.attrs.integers("before");

  // Channels-last stays so; blocks would have to be split where channels are padded.
  const bool last = shape.size() >= 3 && source.layout.block == 1 &&
                    same_layout(source.layout, channels_last(source.shape()), source.shape());
  const bool blocked = source.layout.block > 1 && shape[1] == source.shape()[1];
  if (source.layout.block > 1 && !blocked) source = builder.in_row_major(input);
  const Layout layout = blocked ? channel_blocked(shape, source.layout.block)
                                : (last ? channels_last(shape) : row_major(shape));
  const Operand output = builder.output(group.root(), layout);
  ir::Tensor value(node.type.dtype, ir::Shape{});
  const Operand filled[] = {output};
  if (is_edge) {
    const Operand middle = box_of(output, builder.node(input).type, before);
    const Operand touched[] = {source, middle};
    builder.add(make_copy_step(source, middle, builder.threads()), touched, "pad", "own:copy");
    add_edges(builder, node, builder.node(input).type, output);
    return base::ok();
  }
  value.set_f64(0, node.attrs.real("value"));
  if (is_padded(layout, shape) && node.attrs.real("value") != 0) {
    // The channels that fill up the last block have to stay zero: they are cleared by the copy of
    // a whole tensor, so build the padded tensor row-major first.
    const Operand plain = builder.temporary(node.type, row_major(shape));
    const Operand plain_filled[] = {plain};
    builder.add(make_fill_step(plain, value), plain_filled, "pad", "own:fill");
    const Operand middle = box_of(plain, builder.node(input).type, before);
    const Operand touched[] = {source, middle};
    builder.add(make_copy_step(source, middle, builder.threads()), touched, "pad", "own:copy");
    const Operand both[] = {plain, output};
    builder.add(make_copy_step(plain, output, builder.threads()), both, "pad", "own:copy");
    return base::ok();
  }
  builder.add(make_fill_step(output, value), filled, "pad", "own:fill");
  const Operand middle = box_of(output, builder.node(input).type, before);
  const Operand touched[] = {source, middle};
  builder.add(make_copy_step(source, middle, builder.threads()), touched, "pad", "own:copy");
  return base::ok();
}

}  // namespace egret::backends::cpu
