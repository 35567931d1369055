// SPDX-License-Identifier: Apache-2.0
#include "ir/core/index_arithmetic.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/window.h"

namespace egret::ir::ops {
namespace {

// The position of an element when the last axis, or with column order the first spatial one, runs
// fastest.
Index position_of(const Dims& dims, std::span<const Index> at, bool column_order) {
  if (!column_order) return linear_index(at, dims);
  std::vector<Index> sizes(dims.rbegin(), dims.rend() - 2);
  std::vector<Index> reversed(at.rbegin(), at.rend() - 2);
  sizes.insert(sizes.begin(), {dims[0], dims[1]});
  reversed.insert(reversed.begin(), {at[0], at[1]});
  return linear_index(reversed, sizes);
}

void define(Definition& d) {
  if (!d.require_rank_at_least(0, 3)) return;
  const Windows windows(d, d.sizes("kernel"));
  if (!d.ok() || !windows.require_taps_inside(d)) return;
  const auto out = d.output(DType::kI64, windows.output_dims(d.dim(0, 0), d.dim(0, 1)));
  const std::span<const Index> window = std::span(out).subspan(2);
  const auto place = [&](std::span<const Index> r) { return windows.place(out, r); };
  const auto inside = [&](std::span<const Index> r) { return windows.inside(window, r); };
  const Scalar best = d.reduce_box(
      Reduction::kMax, windows.kernel(),
      [&](std::span<const Index> r) { return d.read(0, place(r)); }, inside);
  const bool column_order = d.flag("storage_order");
  d.value(d.reduce_box(
      Reduction::kMin, windows.kernel(),
      [&](std::span<const Index> r) {
        return scalar_of(position_of(d.dims(0), place(r), column_order));
      },
      [&](std::span<const Index> r) { return inside(r) && !less(d.read(0, place(r)), best); }));
}

base::Status write(OnnxWriter& writer) {
  writer.needs_opset(is_dilated(writer.attrs()) ? 10 : 8);
  std::vector<OnnxWriter::Attribute> attributes = window_attributes(writer);
  attributes.push_back({"storage_order", writer.attrs().integer("storage_order")});
  writer.emit("MaxPool", {writer.input(0)}, std::move(attributes), "", 2, 1);
  return base::ok();
}

}  // namespace

// Imported with max_pool: it is MaxPool's second output.
Operator max_pool_indices() {
  return with_window_attrs(primitive("max_pool_indices",
                                     "Where in x, counted over all its elements, max_pool finds "
                                     "its maximum, as i64; of equals the first",
                                     {"x"}))
      .attr("kernel", AttrKind::kIntegers, "size of the window, one number a spatial axis")
      .attr("storage_order", std::int64_t{0}, "0 counts rows first, 1 columns")
      .shown_on({"f32[N,C,8,8]"}, {{"kernel", Integers{3, 3}},
                                   {"strides", Integers{2, 2}},
                                   {"pads", Integers{1, 1, 1, 1}},
                                   {"dilations", Integers{1, 1}}})
      .defined_by(define)
      .onnx_export(write, 8);
}

}  // namespace egret::ir::ops
