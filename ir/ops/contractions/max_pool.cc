// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/window.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  if (!d.require_rank_at_least(0, 3)) return;
  const Windows windows(d, d.sizes("kernel"));
  if (!d.ok() || !windows.require_taps_inside(d)) return;
  const auto out = d.output(d.dtype(0), windows.output_dims(d.dim(0, 0), d.dim(0, 1)));
  const std::span<const Index> window = std::span(out).subspan(2);
  d.value(d.reduce_box(
      Reduction::kMax, windows.kernel(),
      [&](std::span<const Index> r) { return d.read(0, windows.place(out, r)); },
      [&](std::span<const Index> r) { return windows.inside(window, r); }));
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  EGRET_ASSIGN_OR_RETURN(const OnnxWindows windows, read_windows(node));
  EGRET_ASSIGN_OR_RETURN(Attrs attrs, windows.attrs());
  attrs.set("kernel", windows.kernel);
  std::vector<Value> outputs{node.builder().add("max_pool", {node.input(0)}, attrs)};
  if (node.has_output(1)) {
    attrs.set("storage_order", node.integer("storage_order", 0));
    outputs.push_back(node.builder().add("max_pool_indices", {node.input(0)}, std::move(attrs)));
  }
  return outputs;
}

base::Status write(OnnxWriter& writer) {
  if (is_dilated(writer.attrs())) writer.needs_opset(10);
  writer.emit("MaxPool", {writer.input(0)}, window_attributes(writer));
  return base::ok();
}

}  // namespace

Operator max_pool() {
  return with_window_attrs(primitive("max_pool",
                                     "Maximum over windows of 1 to 3 spatial axes; padding does "
                                     "not count, and each window has an element that does",
                                     {"x"}))
      .attr("kernel", AttrKind::kIntegers, "size of the window, one number a spatial axis")
      .shown_on({"f32[N,C,H,W]"}, {{"kernel", Integers{3, 3}},
                                   {"strides", Integers{2, 2}},
                                   {"pads", Integers{1, 1, 1, 1}},
                                   {"dilations", Integers{1, 1}}})
      .defined_by(define)
      .onnx_import("MaxPool", import)
      .onnx_export(write);
}

}  // namespace egret::ir::ops
