// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/regions/region_inputs.h"

#include <algorithm>

namespace egret::backends::cpu {
namespace {

// Strides of an input in the axes of the output's strided view; false when it must be copied into
// another layout first.
bool input_strides(const Operand& operand, const ir::Shape& out, std::int64_t block,
                   ir::Shape& strides) {
  const ir::Shape shape = operand.shape();
  const std::size_t shift = out.size() - shape.size();
  strides.assign(out.size() + (block > 1 ? 1 : 0), 0);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = i + shift;
    if (shape[i] == 1 && out[axis] != 1) continue;
    const std::int64_t stride = operand.layout.strides[i];
    const bool split = operand.layout.block > 1 && i == 1;
    // The output's view splits channels into blocks and channels of a block. An input in the same
    // blocks follows directly. A plain input follows by two strides, if the last block is full.
    if (block > 1 && axis == 1 && shape[i] > 1) {
      if (split) {
        if (operand.layout.block != block || shift != 0) return false;
        strides[axis] = stride;
        strides.back() = 1;
      } else {
        if (out[axis] % block != 0) return false;
        strides[axis] = stride * block;
        strides.back() = stride;
      }
    } else {
      if (split && shape[i] > 1) return false;
      strides[axis] = stride;
    }
  }
  return true;
}

template <typename T>
void fill_rows(const T* from, std::int64_t row_stride, std::int64_t stride, std::int64_t rows,
               std::int64_t inner, float* to) {
  for (std::int64_t r = 0; r < rows; ++r, from += row_stride, to += inner) {
    if (stride == 0) {
      std::fill_n(to, inner, static_cast<float>(*from));
    } else if (stride == 1) {
      for (std::int64_t i = 0; i < inner; ++i) to[i] = static_cast<float>(from[i]);
    } else {
      for (std::int64_t i = 0; i < inner; ++i) to[i] = static_cast<float>(from[i * stride]);
    }
  }
}

}  // namespace

Layout choose_layout(const PlanBuilder& builder, const PointwiseProgram& program,
                     const ir::Shape& shape) {
  const Layout* dense = nullptr;
  for (const ir::NodeId id : program.inputs) {
    if (builder.is_constant(id)) continue;
    const Operand& home = builder.place(id);
    if (home.shape() != shape || !is_dense(home.layout, shape)) continue;
    if (home.layout.block > 1) return home.layout;
    if (dense == nullptr) dense = &home.layout;
  }
  return dense != nullptr ? *dense : row_major(shape);
}

bool place_input(PlanBuilder& builder, ir::NodeId id, const ir::Shape& out, const Layout& layout,
                 RegionInput& input) {
  const ir::Shape shape = builder.node(id).type.shape();
  const bool f32 = builder.node(id).type.dtype == ir::DType::kF32;
  if (const Operand* same = shape == out ? builder.find_home(id, layout) : nullptr) {
    input.operand = *same;
    input.operand.layout = layout;
    return input_strides(input.operand, out, layout.block, input.strides);
  }
  input.operand = builder.home(id);
  const bool whole = shape == out && f32 && layout.block > 1;
  if (!whole && input_strides(input.operand, out, layout.block, input.strides)) return true;
  if (f32 && layout.block > 1 && shape.size() == out.size() && shape[1] == out[1]) {
    input.operand = builder.in_layout(id, channel_blocked(shape, layout.block));
    return input_strides(input.operand, out, layout.block, input.strides);
  }
  input.operand = builder.in_row_major(id);
  return input_strides(input.operand, out, layout.block, input.strides);
}

Operand place_output(PlanBuilder& builder, const PointwiseProgram& program,
                     std::span<const RegionInput> inputs, std::size_t result, ir::NodeId id,
                     const Layout& layout) {
  const ir::TensorType& type = builder.node(id).type;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Operand& in = inputs[i].operand;
    if (in.type == type && same_layout(in.layout, layout, type.shape()) &&
        is_dense(in.layout, type.shape()) && builder.may_overwrite(program.inputs[i], in) &&
        may_share_place(program, i, result)) {
      Operand output = in;
      output.layout = layout;
      builder.set_home(id, output);
      return output;
    }
  }
  return builder.output(id, layout);
}

ir::Shape join_loops(const Layout& layout, const ir::Shape& shape,
                     std::vector<RegionInput>& inputs) {
  const StridedView view = strided_view(layout, shape);
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] > 1) order.push_back(axis);
  }
  // The output is dense, so descending strides are the order of its memory. Only the inputs decide
  // whether two neighbouring loops merge.
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return view.strides[a] > view.strides[b]; });
  ir::Shape loops;
  std::vector<ir::Shape> strides(inputs.size());
  for (const std::size_t axis : order) {
    bool joins = !loops.empty();
    for (std::size_t i = 0; i < inputs.size() && joins; ++i)
      // The outer loop must continue the inner one in this input. A repeated pair (stride 0 and 0)
      // continues too.
      joins = strides[i].back() == inputs[i].strides[axis] * view.shape[axis];
    if (joins) {
      loops.back() *= view.shape[axis];
      for (std::size_t i = 0; i < inputs.size(); ++i) strides[i].back() = inputs[i].strides[axis];
    } else {
      loops.push_back(view.shape[axis]);
      for (std::size_t i = 0; i < inputs.size(); ++i) strides[i].push_back(inputs[i].strides[axis]);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].strides = strides[i];
  return loops;
}

void copy_rows(const Operand& operand, const Addresses& addresses, std::int64_t at,
               std::int64_t row_stride, std::int64_t stride, std::int64_t rows, std::int64_t inner,
               float* to) {
  switch (operand.type.dtype) {
    case ir::DType::kF32:
      fill_rows(addresses.at(operand) + at, row_stride, stride, rows, inner, to);
      break;
    case ir::DType::kI32:
      fill_rows(addresses.at<std::int32_t>(operand) + at, row_stride, stride, rows, inner, to);
      break;
    case ir::DType::kI64:
      fill_rows(addresses.at<std::int64_t>(operand) + at, row_stride, stride, rows, inner, to);
      break;
    default:
      fill_rows(addresses.at<std::uint8_t>(operand) + at, row_stride, stride, rows, inner, to);
  }
}

}  // namespace egret::backends::cpu
