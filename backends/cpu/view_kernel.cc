// SPDX-License-Identifier: Apache-2.0
// Operators that move no element when strides say the same: identity, reshape, transpose, slice,
// broadcast. Whoever needs another layout copies (PlanBuilder::in_layout()).
#include "backends/cpu/kernel_table.h"

namespace egret::backends::cpu {
namespace {

// A home that is addressed by strides alone.
Operand strided_home(PlanBuilder& builder, ir::NodeId id) {
  const Operand home = builder.home(id);
  return home.layout.block == 1 ? home : builder.in_row_major(id);
}

Operand reshaped(PlanBuilder& builder, const ir::Node& node) {
  Operand operand = builder.in_row_major(node.inputs[0]);
  operand.layout = row_major(node.type.shape());
  return operand;
}

Operand transposed(PlanBuilder& builder, const ir::Node& node) {
  Operand operand = strided_home(builder, node.inputs[0]);
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
