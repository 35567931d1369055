// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const std::int64_t start = d.integer("start");
  const std::int64_t end = d.integer("end");
  if (!d.require(0 <= start && start <= end && end <= d.rank(0),
                 "axes [" + std::to_string(start) + ", " + std::to_string(end) +
                     ") of an input of rank " + std::to_string(d.rank(0)))) {
    return;
  }
  const auto out = d.output(DType::kI64, {end - start});
  Scalar value = end > start ? scalar_of(d.dim(0, static_cast<int>(end - 1))) : Scalar(0);
  for (std::int64_t axis = end - 1; axis-- > start;) {
    value = select(out[0] == axis - start, scalar_of(d.dim(0, static_cast<int>(axis))), value);
  }
  d.value(value);
}

// A constant when all the sizes are known.
OnnxOutputs import(OnnxNode& node) {
  const TensorType& type = node.type(node.input(0));
  const std::int64_t rank = type.rank();
  const auto clamped = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = clamped(node.integer("start", 0));
  const std::int64_t end = std::max(start, clamped(node.integer("end", rank)));
  Integers sizes;
  for (std::int64_t axis = start; axis < end; ++axis) {
    const Index size = type.dims[static_cast<std::size_t>(axis)];
    if (!size.is_constant()) {
      return only_output(
          node.builder().add("shape", {node.input(0)}, {{"start", start}, {"end", end}}));
    }
    sizes.push_back(size.constant());
  }
  return only_output(node.builder().constant(Tensor::of_integers(sizes)));
}

base::Status write(OnnxWriter& writer) {
  const std::int64_t start = writer.attrs().integer("start");
  const std::int64_t end = writer.attrs().integer("end");
  const bool whole = start == 0 && end == writer.input_type(0).rank();
  if (writer.opset() >= 15 && !whole) {
    writer.emit("Shape", {writer.input(0)}, {{"start", start}, {"end", end}});
    return base::ok();
  }
  const std::string shape = writer.emit("Shape", {writer.input(0)});
  if (whole) return base::ok();
  Integers axes;
  for (std::int64_t axis = start; axis < end; ++axis) axes.push_back(axis);
  writer.emit("Gather", {shape, writer.constant_integers(axes)});
  return base::ok();
}

}  // namespace

Operator shape() {
  return primitive("shape", "The sizes of axes [start, end) of x; its elements do not matter",
                   {"x"})
      .attr("start", AttrKind::kInteger, "the first axis")
      .attr("end", AttrKind::kInteger, "one past the last axis")
      .shown_on({"f32[N,C,H,W]"}, {{"start", std::int64_t{2}}, {"end", std::int64_t{4}}})
      .defined_by(define)
      .onnx_import("Shape", import)
      .onnx_export(write);
}

}  // namespace egret::ir::ops
