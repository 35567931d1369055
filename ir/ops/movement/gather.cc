// SPDX-License-Identifier: Apache-2.0
#include "ir/core/index_arithmetic.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

//   out[a.., j.., b..] = x[a.., indices[j..] mod size, b..]     where a.. precede the axis
void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  if (!d.require_axis(axis, d.rank(0)) ||
      !d.require_dtype(1, is_integer(d.dtype(1)), "of integers")) {
    return;
  }
  const auto before = static_cast<std::ptrdiff_t>(axis);
  const std::ptrdiff_t inserted = d.rank(1);
  const Dims x = d.dims(0);
  const Dims indices = d.dims(1);
  const Index size = x[static_cast<std::size_t>(axis)];
  Dims dims(x.begin(), x.begin() + before);
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), x.begin() + before + 1, x.end());
  const auto out = d.output(d.dtype(0), dims);
  if (!d.ok()) return;
  const auto j =
      std::span(out).subspan(static_cast<std::size_t>(before), static_cast<std::size_t>(inserted));
  std::vector<Index> at(out.begin(), out.begin() + before);
  at.push_back(wrapped_index(d.read(1, j), size));
  at.insert(at.end(), out.begin() + before + inserted, out.end());
  d.value(d.read(0, at));
}

OnnxOutputs import(OnnxNode& node) {
  const Value x = node.input(0);
  const std::int64_t axis = node.axis(node.integer("axis", 0), node.type(x).rank());
  return only_output(node.builder().add("gather", {x, node.input(1)}, {{"axis", axis}}));
}

}  // namespace

Operator gather() {
  return primitive("gather",
                   "Slices of x along an axis, one for each element of indices; an index counts "
                   "modulo the size of the axis, so negative ones count from its end",
                   {"x", "indices"})
      .attr("axis", std::int64_t{0}, "the axis of x that is indexed")
      .shown_on({"f32[N,D]", "i64[B,S]"})
      .defined_by(define)
      .onnx_import("Gather", import)
      .onnx_export(same_name_export("Gather"));
}

}  // namespace egret::ir::ops
