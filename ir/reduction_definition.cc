// SPDX-License-Identifier: Apache-2.0
#include "ir/reduction_definition.h"

#include <algorithm>
#include <numeric>

#include "ir/builder.h"

namespace egret::ir {
namespace {

void define(Definition& d, const ReductionForm& form) {
  const Integers& axes = d.integers("axes");
  const bool keepdims = d.integer("keepdims") != 0;
  const int rank = d.rank(0);
  for (const std::int64_t axis : axes) {
    if (!d.require_axis(axis, rank)) return;
  }
  if (!std::ranges::is_sorted(axes, std::ranges::less_equal{}) &&
      std::ranges::adjacent_find(axes, std::ranges::greater_equal{}) != axes.end()) {
    d.fail("axes must be ascending and distinct");
    return;
  }
  const auto reduced = [&](int axis) { return std::ranges::find(axes, axis) != axes.end(); };

  Dims dims;
  std::vector<Index> extents;
  Index count = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const Index size = d.dim(0, axis);
    if (reduced(axis)) {
      extents.push_back(size);
      count = count * size;
      if (form.needs_element) d.require(size >= 1, "reduces over an empty axis");
      if (keepdims) dims.push_back(1);
    } else {
      dims.push_back(size);
    }
  }

  const auto out = d.output(d.dtype(0), dims);
  const Scalar value = d.reduce_box(form.reduction, extents, [&](std::span<const Index> r) {
    std::vector<Index> at;
    std::size_t next_reduced = 0;
    std::size_t next_kept = 0;
    for (int axis = 0; axis < rank; ++axis) {
      if (reduced(axis)) {
        at.push_back(r[next_reduced++]);
        if (keepdims) ++next_kept;
      } else {
        at.push_back(out[next_kept++]);
      }
    }
    const Scalar x = d.read(0, at);
    return form.element ? form.element(x) : x;
  });
  d.value(form.finish ? form.finish(value, scalar_of(count)) : value);
}

// Axes are an attribute up to opset 17 (ReduceSum: 12), an input afterwards; none means all, unless
// noop_with_empty_axes says none.
base::Result<std::vector<Value>> import(OnnxNode& node, const std::string& name) {
  const Value x = node.input(0);
  const int rank = node.type(x).rank();
  Integers axes = node.integers("axes", {});
  if (node.has_input(1)) {
    const auto given = node.constant_integers(1);
    if (!given) return base::unsupported("axes that are computed at run time");
    axes = *given;
  }
  if (axes.empty()) {
    if (node.integer("noop_with_empty_axes", 0) != 0) return std::vector<Value>{x};
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (std::int64_t& axis : axes) axis = node.axis(axis, rank);
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return std::vector<Value>{
      node.builder().add(name, {x}, {{"axes", axes}, {"keepdims", node.integer("keepdims", 1)}})};
}

base::Status write(OnnxWriter& writer, const std::string& onnx_name) {
  const Integers& axes = writer.attrs().integers("axes");
  const OnnxWriter::Attribute keepdims{"keepdims", writer.attrs().integer("keepdims")};
  if (axes.empty()) {  // in ONNX no axes would mean all
    writer.emit("Identity", {writer.input(0)});
  } else if (writer.opset() >= (onnx_name == "ReduceSum" ? 13 : 18)) {
    writer.emit(onnx_name, {writer.input(0), writer.constant_integers(axes)}, {keepdims});
  } else {
    writer.emit(onnx_name, {writer.input(0)}, {{"axes", axes}, keepdims});
  }
  return base::ok();
}

}  // namespace

Operator reduction_operator(std::string name, std::string doc, std::string onnx_name,
                            ReductionForm form) {
  auto import_named = [name](OnnxNode& node) { return import(node, name); };
  auto write_named = [onnx_name](OnnxWriter& writer) { return write(writer, onnx_name); };
  return primitive(std::move(name), std::move(doc), {"x"})
      .attr("axes", AttrKind::kIntegers, "the reduced axes, ascending")
      .attr("keepdims", std::int64_t{1}, "1 keeps each reduced axis with size 1, 0 drops it")
      .defined_by([form = std::move(form)](Definition& d) { define(d, form); })
      .onnx_import(onnx_name, std::move(import_named))
      .onnx_export(std::move(write_named));
}

}  // namespace egret::ir
