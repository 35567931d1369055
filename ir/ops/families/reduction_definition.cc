// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/reduction_definition.h"

#include <algorithm>

#include "ir/graph/builder.h"

namespace egret::ir {
namespace {

// One definition for all: an element is mapped, the box of the reduced axes is folded, and the
// result is finished (divided by the count, for a mean).
void define(Definition& d, const ReductionForm& form) {
  const Integers& axes = d.axes("axes", d.rank(0));
  const bool keepdims = d.flag("keepdims");
  const int rank = d.rank(0);
  for (const std::int64_t axis : axes) {
    if (!d.require_axis(axis, rank)) return;
  }
  if (std::ranges::adjacent_find(axes, std::ranges::greater_equal{}) != axes.end()) {
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

// Over no axes each element is reduced alone: these leave it, while ReduceL1 makes it |x|.
bool keeps_single_elements(std::string_view onnx) {
  static constexpr std::string_view kNames[] = {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin",
                                                "ReduceMean"};
  return std::ranges::find(kNames, onnx) != std::end(kNames);
}

// Those that end in a logarithm or a root; of integers, ONNX leaves open how it is rounded.
bool is_of_reals_alone(std::string_view onnx) {
  static constexpr std::string_view kNames[] = {"ReduceL2", "ReduceLogSum", "ReduceLogSumExp"};
  return std::ranges::find(kNames, onnx) != std::end(kNames);
}

// Axes are an attribute up to opset 17 (ReduceSum: 12), an input afterwards; none means all, unless
// noop_with_empty_axes says none.
base::Result<std::vector<Value>> import(OnnxNode& node, const std::string& name) {
  const Value x = node.input(0);
  const int rank = node.type(x).rank();
  if (is_of_reals_alone(node.op_type()) && !is_float(node.type(x).dtype))
    return base::unsupported(std::string(node.op_type()) + " of integers");
  Integers axes = node.integers("axes", {});
  if (node.has_input(1)) {
    const auto given = node.constant_integers(1);
    if (!given) return base::unsupported("axes that are computed at run time");
    axes = *given;
  }
  if (axes.empty() && node.integer("noop_with_empty_axes", 0) == 0) axes = axes_from(0, rank);
  if (axes.empty() && keeps_single_elements(node.op_type())) return only_output(x);
  for (std::int64_t& axis : axes) axis = node.axis(axis, rank);
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return only_output(
      node.builder().add(name, {x}, reduction_attrs(axes, node.integer("keepdims", 1) != 0)));
}

base::Result<std::vector<Value>> import_global_pool(OnnxNode& node, const std::string& name) {
  const Value x = node.input(0);
  return only_output(
      node.builder().add(name, {x}, reduction_attrs(axes_from(2, node.type(x).rank()), true)));
}

// For an image, runtimes have a better kernel for global pooling than for the reduction.
bool is_global_pool(const OnnxWriter& writer) {
  const TensorType& x = writer.input_type(0);
  return x.rank() >= 4 && is_float(x.dtype) && writer.attrs().integer("keepdims") != 0 &&
         writer.attrs().integers("axes") == axes_from(2, x.rank());
}

base::Status write(OnnxWriter& writer, const ReductionOnnxNames& onnx) {
  const Integers& axes = writer.attrs().integers("axes");
  const OnnxWriter::Attribute keepdims{"keepdims", writer.attrs().integer("keepdims")};
  if (axes.empty()) {  // in ONNX no axes would mean all
    return base::unsupported(onnx.reduce + " over no axes");
  }
  if (!onnx.global_pool.empty() && is_global_pool(writer)) {
    writer.emit(onnx.global_pool, {writer.input(0)});
  } else if (writer.opset() >= (onnx.reduce == "ReduceSum" ? 13 : 18)) {
    writer.emit(onnx.reduce, {writer.input(0), writer.constant_integers(axes)}, {keepdims});
  } else {
    writer.emit(onnx.reduce, {writer.input(0)}, {{"axes", axes}, keepdims});
  }
  return base::ok();
}

// Attributes and ONNX bindings.
Operator reduction_interface(Operator op, const ReductionOnnxNames& onnx) {
  const std::string name = op.name();
  const bool composite = op.is_composite();
  Operator result =
      std::move(op)
          .attr("axes", AttrKind::kIntegers, "the reduced axes, ascending")
          .attr("keepdims", std::int64_t{1}, "1 keeps each reduced axis with size 1, 0 drops it")
          .shown_on({"f32[M,N]"}, {{"axes", Integers{1}}, {"keepdims", std::int64_t{0}}})
          .onnx_import(onnx.reduce, [name](OnnxNode& node) { return import(node, name); })
          .onnx_export([onnx, composite](OnnxWriter& writer) {
            if (!composite && writer.attrs().integers("axes").empty()) {
              writer.emit("Identity", {writer.input(0)});
              return base::ok();
            }
            return write(writer, onnx);
          });
  if (onnx.global_pool.empty()) return result;
  return std::move(result).onnx_import(
      onnx.global_pool, [name](OnnxNode& node) { return import_global_pool(node, name); });
}

}  // namespace

Attrs reduction_attrs(Integers axes, bool keepdims) {
  return {{"axes", std::move(axes)}, {"keepdims", std::int64_t{keepdims ? 1 : 0}}};
}

Integers axes_from(std::int64_t first, int rank) {
  Integers axes;
  for (std::int64_t axis = first; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Operator reduction_operator(std::string name, std::string doc, const ReductionOnnxNames& onnx,
                            ReductionForm form) {
  return reduction_interface(
      primitive(std::move(name), std::move(doc), {"x"})
          .defined_by([form = std::move(form)](Definition& d) { define(d, form); }),
      onnx);
}

Operator reduction_composite(std::string name, std::string doc, const ReductionOnnxNames& onnx,
                             Operator::BuildBody body) {
  return reduction_interface(
      composite(std::move(name), std::move(doc), {"x"}).with_body(std::move(body)), onnx);
}

}  // namespace egret::ir
