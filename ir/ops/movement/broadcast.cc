// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/core/size_reference.h"
#include "ir/core/symbolic_scope.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const TensorType x(d.dtype(0), d.dims(0));
  const Integers& shape = d.targets("shape");
  const auto target = target_dims(x, shape);
  if (!target.ok() || std::ranges::find(shape, kInferredSize) != shape.end()) {
    d.fail(target.ok() ? "sizes cannot be inferred here" : target.status().message());
    return;
  }
  if (!d.require(x.dims.size() <= target->size(), "the target has fewer axes than the input"))
    return;
  const std::size_t added = target->size() - x.dims.size();
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
    const Index wanted = (*target)[added + axis];
    if (Definition::repeats(x.dims[axis], wanted)) continue;
    if (!d.require(x.dims[axis] == wanted, to_string(x) + " does not broadcast to " +
                                               to_string(TensorType(x.dtype, *target)))) {
      return;
    }
  }
  const auto out = d.output(x.dtype, *target);
  d.value(d.read_broadcast(0, out));
}

// Expand's shape and the input broadcast each other: a 1 in the shape keeps the input's size.
OnnxOutputs import(OnnxNode& node) {
  const Value x = node.input(0);
  const TensorType& type = node.type(x);
  EGRET_ASSIGN_OR_RETURN(Integers target, required_size_integers(node, 1, "shape"));
  const std::size_t rank = std::max(target.size(), type.dims.size());
  if (std::ranges::any_of(target, [](std::int64_t size) { return size < 0; })) {
    return base::bad_input("a negative size in the target shape");
  }
  target.insert(target.begin(), rank - target.size(), 1);
  for (int axis = 0; axis < type.rank(); ++axis) {
    std::int64_t& size = target[rank - type.dims.size() + static_cast<std::size_t>(axis)];
    if (size == 1) size = target_of_axis(type, axis);
  }
  const auto dims = target_dims(type, target);
  if (dims.ok() && TensorType(type.dtype, *dims) == type) return only_output(x);
  return only_output(node.builder().add("broadcast", {x}, {{"shape", std::move(target)}}));
}

base::Status write(OnnxWriter& writer) {
  const Dims& out = writer.output_type().dims;
  const Dims& in = writer.input_type(0).dims;
  Integers shape;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t added = out.size() - in.size();
    const bool kept = i >= added && in[i - added].same(out[i]);
    const auto size = open_integer(out[i]);
    if (!kept && !size)
      return base::unsupported("Expand to the symbolic size " + to_string(out[i]));
    shape.push_back(kept ? 1 : *size);  // 1 keeps the input's size
  }
  writer.emit("Expand", {writer.input(0), writer.constant_integers(shape)});
  return base::ok();
}

}  // namespace

Operator broadcast() {
  return primitive("broadcast", "Repeats the input along added axes and along axes of size 1",
                   {"x"})
      .attr("shape", AttrKind::kIntegers,
            "the target sizes; -2-k is the size of the input's axis k")
      .shown_on({"f32[N,1]"}, {{"shape", Integers{8, -2, 4}}})
      .defined_by(define)
      .onnx_import("Expand", import)
      .onnx_export(write, 8);
}

}  // namespace egret::ir::ops
