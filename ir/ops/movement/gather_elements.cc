// SPDX-License-Identifier: Apache-2.0
#include "ir/core/index_arithmetic.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

//   out[i..] = x[i.., indices[i..] mod size at the axis, ..]
void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  if (!d.require_axis(axis, d.rank(0)) || !d.require_rank(1, d.rank(0)) ||
      !d.require_dtype(1, is_integer(d.dtype(1)), "of integers")) {
    return;
  }
  for (int k = 0; k < d.rank(0); ++k) {
    if (k != axis) {
      d.require(d.dim(1, k) <= d.dim(0, k),
                "indices are larger than x in axis " + std::to_string(k));
    }
  }
  const auto out = d.output(d.dtype(0), d.dims(1));
  if (!d.ok()) return;
  std::vector<Index> at = out;
  at[static_cast<std::size_t>(axis)] =
      wrapped_index(d.read(1, out), d.dim(0, static_cast<int>(axis)));
  d.value(d.read(0, at));
}

OnnxOutputs import(OnnxNode& node) {
  const Value x = node.input(0);
  const std::int64_t axis = node.axis(node.integer("axis", 0), node.type(x).rank());
  return only_output(node.builder().add("gather_elements", {x, node.input(1)}, {{"axis", axis}}));
}

}  // namespace

Operator gather_elements() {
  return primitive("gather_elements",
                   "Elements of x at the output's own place, but for one axis, where indices say; "
                   "an index counts modulo the size of the axis",
                   {"x", "indices"})
      .attr("axis", std::int64_t{0}, "the axis of x that is indexed")
      .shown_on({"f32[M,N]", "i64[M,K]"}, {{"axis", std::int64_t{1}}})
      .defined_by(define)
      .onnx_import("GatherElements", import)
      .onnx_export(same_name_export("GatherElements"), 11);
}

}  // namespace egret::ir::ops
