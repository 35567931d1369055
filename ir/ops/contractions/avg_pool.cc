// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/window.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  if (!d.require_rank_at_least(0, 3)) return;
  const Windows windows(d, d.sizes("kernel"));
  if (!d.ok()) return;
  const auto out = d.output(d.dtype(0), windows.output_dims(d.dim(0, 0), d.dim(0, 1)));
  const std::span<const Index> window = std::span(out).subspan(2);
  const Scalar sum = d.reduce_box(
      Reduction::kSum, windows.kernel(),
      [&](std::span<const Index> r) { return d.read(0, windows.place(out, r)); },
      [&](std::span<const Index> r) { return windows.inside(window, r); });
  const bool count_all = d.flag("count_include_pad");
  Index count = 1;
  for (std::size_t i = 0; i < windows.spatial_axes(); ++i) {
    count = count * (count_all ? windows.kernel()[i] : windows.taps_inside(i, window[i]));
  }
  d.value(sum / scalar_of(count));
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  EGRET_ASSIGN_OR_RETURN(const OnnxWindows windows, read_windows(node));
  GraphBuilder& b = node.builder();
  Value x = node.input(0);
  EGRET_ASSIGN_OR_RETURN(Attrs attrs, windows.attrs());
  attrs.set("kernel", windows.kernel);
  std::int64_t count_include_pad = node.integer("count_include_pad", 0);
  if (count_include_pad != 0 && windows.has_excess()) {
    // Padding counts but the excess of ceil mode does not: put the padding into the input.
    const auto axes = static_cast<std::ptrdiff_t>(windows.kernel.size());
    EGRET_ASSIGN_OR_RETURN(const Integers pads, open_integers(windows.pads));
    EGRET_ASSIGN_OR_RETURN(const Integers behind, open_integers(windows.ceil_excess));
    const auto middle = pads.begin() + axes;
    Integers before{0, 0};
    before.insert(before.end(), pads.begin(), middle);
    Integers after{0, 0};
    after.insert(after.end(), middle, pads.end());
    x = b.add("pad", {x},
              {{"before", before}, {"after", after}, {"mode", std::string("constant")}});
    Integers excess(windows.kernel.size(), 0);
    excess.insert(excess.end(), behind.begin(), behind.end());
    attrs.set("pads", excess);
    count_include_pad = 0;
  }
  attrs.set("count_include_pad", count_include_pad);
  return only_output(b.add("avg_pool", {x}, std::move(attrs)));
}

base::Status write(OnnxWriter& writer) {
  if (is_dilated(writer.attrs())) writer.needs_opset(19);
  std::vector<OnnxWriter::Attribute> attributes = window_attributes(writer);
  if (writer.attrs().integer("count_include_pad") != 0) {
    attributes.push_back({"count_include_pad", std::int64_t{1}});
  }
  writer.emit("AveragePool", {writer.input(0)}, std::move(attributes));
  return base::ok();
}

}  // namespace

Operator avg_pool() {
  return with_window_attrs(primitive("avg_pool", "Mean over windows of 1 to 3 spatial axes", {"x"}))
      .attr("kernel", AttrKind::kIntegers, "size of the window, one number a spatial axis")
      .attr("count_include_pad", std::int64_t{0},
            "1 divides by the size of the window, 0 by how much of it is inside the input")
      .shown_on({"f32[N,C,H,W]"}, {{"kernel", Integers{3, 3}},
                                   {"strides", Integers{2, 2}},
                                   {"pads", Integers{1, 1, 1, 1}},
                                   {"dilations", Integers{1, 1}}})
      .defined_by(define)
      .onnx_import("AveragePool", import)
      .onnx_export(write, 7);
}

}  // namespace egret::ir::ops
