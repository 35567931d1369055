// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

//   out[a.., j, b..] = values[1] where indices[a.., b..] is j or j - depth, else values[0]
void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0) + 1);
  const Index depth = d.size("depth");
  if (!d.require_axis(axis, d.rank(0) + 1) || !d.require_rank(1, 1) ||
      !d.require_dtype(0, d.dtype(0) != DType::kBool, "a number") ||
      !d.require(d.dim(1, 0) == 2, "values must hold the value off and the value on") ||
      !d.require(depth >= 0, "depth must not be negative")) {
    return;
  }
  Dims dims = d.dims(0);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const auto out = d.output(d.dtype(1), dims);
  const Index j = out[static_cast<std::size_t>(axis)];
  std::vector<Index> at = out;
  at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
  const Scalar element = d.read(0, at);
  const Index named = index_of(is_float(d.dtype(0)) ? cast(DType::kI64, element) : element);
  d.value(select(named == j || named + depth == j, d.read(1, {1}), d.read(1, {0})));
}

OnnxOutputs import(OnnxNode& node) {
  EGRET_ASSIGN_OR_RETURN(const Integers depth, required_size_integers(node, 1, "depth"));
  if (depth.size() != 1) return base::bad_input("depth must be one number");
  const int rank = node.type(node.input(0)).rank() + 1;
  return only_output(node.builder().add(
      "one_hot", {node.input(0), node.input(2)},
      {{"axis", node.axis(node.integer("axis", -1), rank)}, {"depth", depth[0]}}));
}

// ONNX Runtime has few of the mixtures of types that the specification allows.
DType type_of_depth(DType indices, DType values) {
  if (indices == DType::kI64 && values == DType::kI32) return DType::kF32;
  if (indices == DType::kF32 && !is_float(values)) return DType::kI64;
  return indices;
}

base::Status write(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  const DType dtype = type_of_depth(writer.input_type(0).dtype, writer.input_type(1).dtype);
  std::string depth;
  if (const Index size = attrs.size("depth"); size.is_constant()) {
    depth = writer.constant(
        Tensor::filled(TensorType(dtype, {1}), static_cast<double>(size.constant())));
  } else {
    EGRET_ASSIGN_OR_RETURN(const Integers open, open_integers(std::vector<Index>{size}));
    depth = writer.constant_integers(open);
    if (dtype != DType::kI64) depth = writer.emit("Cast", {depth}, {{"to", onnx_code(dtype)}});
  }
  writer.emit("OneHot", {writer.input(0), depth, writer.input(1)},
              {{"axis", attrs.integer("axis")}});
  return base::ok();
}

}  // namespace

Operator one_hot() {
  return primitive("one_hot",
                   "A new axis that is on where its index equals the element of indices and off "
                   "elsewhere; negative elements count from the end",
                   {"indices", "values"})
      .attr("axis", AttrKind::kInteger, "where the new axis goes")
      .attr("depth", AttrKind::kInteger, "its size")
      .shown_on({"i64[N]", "f32[2]"}, {{"axis", std::int64_t{1}}, {"depth", std::int64_t{10}}})
      .defined_by(define)
      .onnx_import("OneHot", import)
      .onnx_export(write, 9);
}

}  // namespace egret::ir::ops
