// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/ops/families/arg_reduction_definition.h"
#include "ir/ops/families/softmax_definition.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  if (!d.require_axis(axis, d.rank(0))) return;
  const Index extent = d.dim(0, static_cast<int>(axis));
  const auto out = d.output(d.dtype(0), d.dims(0));
  if (!d.ok()) return;
  const Scalar first =
      position_of_extremum(d, Reduction::kMax, extent, /*last=*/false, [&](Index k) {
        std::vector<Index> at(out.begin(), out.end());
        at[static_cast<std::size_t>(axis)] = k;
        return at;
      });
  d.value(scalar_of(equal(first, scalar_of(out[static_cast<std::size_t>(axis)]))));
}

// Below opset 13 the maximum is taken over all axes from `axis` on.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  const Value x = node.input(0);
  const bool one_axis = node.opset() >= 13;
  const std::int64_t axis = node.axis(node.integer("axis", one_axis ? -1 : 1), node.type(x).rank());
  if (!one_axis && !rest_is_trivial(node.type(x), axis)) {
    return base::unsupported("Hardmax over several axes");
  }
  return only_output(node.builder().add("hardmax", {x}, {{"axis", axis}}));
}

base::Status write(OnnxWriter& writer) {
  const std::int64_t axis = writer.attrs().integer("axis");
  if (!rest_is_trivial(writer.input_type(0), axis)) writer.needs_opset(13);
  writer.emit("Hardmax", {writer.input(0)}, {{"axis", axis}});
  return base::ok();
}

}  // namespace

Operator hardmax() {
  return primitive("hardmax", "1 at the first maximum along an axis, 0 elsewhere", {"x"})
      .attr("axis", AttrKind::kInteger, "the axis")
      .shown_on({"f32[M,N]"}, {{"axis", std::int64_t{1}}})
      .defined_by(define)
      .onnx_import("Hardmax", import)
      .onnx_export(write);
}

}  // namespace egret::ir::ops
