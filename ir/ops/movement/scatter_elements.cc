// SPDX-License-Identifier: Apache-2.0
#include "ir/core/index_arithmetic.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/ops/families/scatter_definition.h"

namespace egret::ir::ops {
namespace {

// An element of the output is hit by updates[.., r, ..] where indices[.., r, ..] names its place on
// the axis; on the other axes updates stay where they are.
void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  const std::string& reduction = d.text("reduction");
  if (!d.require_axis(axis, d.rank(0)) || !d.require_rank(1, d.rank(0)) ||
      !d.require_rank(2, d.rank(0)) || !require_scatter_reduction(d, reduction) ||
      !d.require_dtype(1, is_integer(d.dtype(1)), "of integers") ||
      !d.require_dtype(2, d.dtype(2) == d.dtype(0), "of the type of x")) {
    return;
  }
  const int along = static_cast<int>(axis);
  const auto out = d.output(d.dtype(0), d.dims(0));
  Guard touched = true;
  for (int k = 0; k < d.rank(0); ++k) {
    const Index size = d.dim(1, k);
    d.require(size == d.dim(2, k), "indices and updates differ in axis " + std::to_string(k));
    if (k == along) continue;
    d.require(size <= d.dim(0, k), "indices are larger than x in axis " + std::to_string(k));
    if (!size.same(d.dim(0, k))) touched = touched && out[static_cast<std::size_t>(k)] < size;
  }
  if (!d.require(d.dim(1, along) >= 1, "there are no updates")) return;

  const auto place = [&](std::span<const Index> r) {
    std::vector<Index> at = out;
    at[static_cast<std::size_t>(axis)] = r[0];
    return at;
  };
  d.value(scattered(d, reduction,
                    {.x = d.read(0, out),
                     .extents = {d.dim(1, along)},
                     .hits =
                         [&](std::span<const Index> r) {
                           const Index to = wrapped_index(d.read(1, place(r)), d.dim(0, along));
                           return touched && to == out[static_cast<std::size_t>(axis)];
                         },
                     .update = [&](std::span<const Index> r) { return d.read(2, place(r)); }}));
}

OnnxOutputs import(OnnxNode& node) {
  const Value x = node.input(0);
  const Value indices = node.input(1);
  for (const Index& size : node.type(indices).dims) {
    if (size.is_constant() && size.constant() == 0) return only_output(x);  // nothing to write
  }
  const std::int64_t axis = node.axis(node.integer("axis", 0), node.type(x).rank());
  return only_output(
      node.builder().add("scatter_elements", {x, indices, node.input(2)},
                         {{"axis", axis}, {"reduction", node.text("reduction", "none")}}));
}

base::Status write(OnnxWriter& writer) {
  return write_scatter(writer, "ScatterElements", {{"axis", writer.attrs().integer("axis")}});
}

}  // namespace

Operator scatter_elements() {
  return primitive(
             "scatter_elements",
             "x with updates written along one axis where indices say; an index counts modulo "
             "the size of the axis",
             {"x", "indices", "updates"})
      .attr("axis", std::int64_t{0}, "the axis of x that is indexed")
      .attr("reduction", std::string("none"),
            "what an update does: none replaces (the last one stays), add, mul, max, min combine")
      .one_of({"none", "add", "mul", "max", "min"})
      .shown_on({"f32[M,N]", "i64[2,3]", "f32[2,3]"}, {{"axis", std::int64_t{1}}})
      .defined_by(define)
      .onnx_import("ScatterElements", import)
      .onnx_import("Scatter", import)
      .onnx_export(write, 11);
}

}  // namespace egret::ir::ops
