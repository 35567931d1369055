// SPDX-License-Identifier: Apache-2.0
// Operators that move no element when strides say the same: identity, reshape, transpose, slice,
// broadcast. Whoever needs another layout copies (PlanBuilder::in_layout()).
#include <optional>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/plan/reader_layout.h"

namespace egret::backends::cpu {
namespace {

// A home that is addressed by strides alone.
Operand strided_home(PlanBuilder& builder, ir::NodeId id) {
  const Operand home = builder.home(id);
  return home.layout.block == 1 ? home : builder.in_row_major(id);
}

// The operand under another shape of equal count, if strides can say it: each run of axes that are
// merged or split has to be contiguous in itself.
std::optional<Operand> restrided(const Operand& operand, const ir::Shape& to) {
  const ir::Shape from = operand.shape();
  ir::Shape strides(to.size(), 1);
  std::size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    // The smallest runs [i, i_end) and [j, j_end) of equal count.
    std::size_t i_end = i + 1, j_end = j + 1;
    std::int64_t a = from[i], b = to[j];
    // Extends the smaller side until the products agree. They agree at the latest when both shapes
    // are used up, except for trailing axes of size 1.
    while (a != b) {
      if (a < b) {
        if (i_end == from.size()) return std::nullopt;
        a *= from[i_end++];
      } else {
        if (j_end == to.size()) return std::nullopt;
        b *= to[j_end++];
      }
    }
    // The run [i, i_end) must be contiguous in itself: each stride equals the extent of the axes
    // inside it. `inner` is then the stride of the whole run, and the axes [j, j_end) divide it.
    std::int64_t inner = 1;
    std::optional<std::int64_t> expected;  // strides may be negative
    for (std::size_t k = i_end; k-- > i;) {
      if (from[k] == 1) continue;
      const std::int64_t stride = operand.layout.strides[k];
      if (!expected) inner = stride;
      if (expected && stride != *expected) return std::nullopt;
      expected = stride * from[k];
    }
    for (std::size_t k = j_end; k-- > j;) {
      strides[k] = inner;
      inner *= to[k];
    }
    i = i_end;
    j = j_end;
  }
  // What is left has size 1 and any stride.
  Operand result = operand;
  result.layout = {strides, 1};
  return result;
}

// Axes 1 to rank-3 innermost, in order: what channels-last becomes when channels are split.
Layout split_channels_last(const ir::Shape& shape) {
  Layout layout{ir::Shape(shape.size(), 1), 1};
  std::int64_t stride = 1;
  const std::size_t rank = shape.size();
  for (std::size_t axis = rank - 2; axis-- > 1;) {
    layout.strides[axis] = stride;
    stride *= shape[axis];
  }
  for (const std::size_t axis : {rank - 1, rank - 2, std::size_t{0}}) {
    layout.strides[axis] = stride;
    stride *= shape[axis];
  }
  return layout;
}

// In place if strides can express the new shape; otherwise a row-major copy.
Operand reshaped(PlanBuilder& builder, const ir::Node& node) {
  const ir::Shape to = node.type.shape();
  const ir::NodeId input = node.inputs[0];
  const Operand home = builder.home(input);
  const ir::Shape from = home.shape();
  if (home.layout.block == 1) {
    if (const auto view = restrided(home, to)) return *view;
    // A shuffle of channels-last channels: one copy that keeps them innermost.
    const std::size_t rank = from.size();
    const bool images = rank >= 4 && to.size() >= 4 && from[rank - 1] == to[to.size() - 1] &&
                        from[rank - 2] == to[to.size() - 2] && from[0] == to[0];
    if (images && home.layout.strides[rank - 1] > 1) {
      const Layout layout = split_channels_last(from);
      const Operand copy = builder.in_layout(input, layout);
      if (const auto view = restrided(copy, to)) return *view;
    }
  }
  Operand operand = builder.in_row_major(input);
  operand.layout = row_major(to);
  return operand;
}

// A value in blocks has to be copied before it is transposed. The copy is the transposed value,
// row-major, if nobody else reads it.
Operand home_to_transpose(PlanBuilder& builder, ir::NodeId id) {
  if (builder.home(id).layout.block > 1) {
    if (const auto layout = layout_of_any_transpose(builder.graph(), id))
      return builder.in_layout(id, *layout);
  }
  return strided_home(builder, id);
}

// A transpose permutes strides, a slice moves the offset and scales a stride, a broadcast sets
// strides to 0: no element moves.
Operand transposed(PlanBuilder& builder, const ir::Node& node) {
  Operand operand = home_to_transpose(builder, node.inputs[0]);
  const ir::Shape strides = operand.layout.strides;
  const ir::Integers& perm = node.attrs.integers("perm");
  for (std::size_t i = 0; i < perm.size(); ++i)
    operand.layout.strides[i] = strides[static_cast<std::size_t>(perm[i])];
  return operand;
}

Operand sliced(PlanBuilder& builder, const ir::Node& node) {
  const auto axis = static_cast<std::size_t>(node.attrs.integer("axis"));
  const std::int64_t start = node.attrs.integer("start");
  const std::int64_t step = node.attrs.integer("step");
  Operand operand = builder.home(node.inputs[0]);
  const auto element = static_cast<std::int64_t>(ir::byte_size(node.type.dtype));
  const std::int64_t block = operand.layout.block;
  // A slice of whole channel blocks moves the offset. Other slices of channels cut a block and need
  // a plain layout.
  if (block > 1 && axis == 1) {
    const std::int64_t size = node.type.shape()[1];
    if (step == 1 && start % block == 0 && size % block == 0) {
      operand.offset += start / block * operand.layout.strides[1] * element;
      return operand;
    }
    operand = builder.in_row_major(node.inputs[0]);
  }
  operand.offset += start * operand.layout.strides[axis] * element;
  operand.layout.strides[axis] *= step;
  return operand;
}

// Shapes are aligned at the last axis. Missing axes and repeated ones get stride 0.
Operand broadcast(PlanBuilder& builder, const ir::Node& node) {
  Operand operand = strided_home(builder, node.inputs[0]);
  const ir::Shape from = operand.shape();
  const ir::Shape to = node.type.shape();
  const std::size_t shift = to.size() - from.size();
  ir::Shape strides(to.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i)
    strides[i + shift] = from[i] == 1 && to[i + shift] != 1 ? 0 : operand.layout.strides[i];
  operand.layout.strides = strides;
  return operand;
}

}  // namespace

base::Status make_view_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  if (node.type.elements() == 0) return base::unsupported("an empty tensor");
  const std::string& op = node.op->name();
  Operand operand;
  if (op == "identity") {
    operand = builder.home(node.inputs[0]);
  } else if (op == "reshape") {
    operand = reshaped(builder, node);
  } else if (op == "transpose") {
    operand = transposed(builder, node);
  } else if (op == "slice") {
    operand = sliced(builder, node);
  } else {
    operand = broadcast(builder, node);
  }
  operand.type = node.type;
  builder.set_home(group.root(), operand);
  return base::ok();
}

}  // namespace egret::backends::cpu
