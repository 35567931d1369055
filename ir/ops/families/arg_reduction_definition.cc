// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/arg_reduction_definition.h"

#include "ir/graph/builder.h"

namespace egret::ir {

// Two passes, since a reduction folds one value: first the extremum, then the least or greatest
// position that reaches it.
Scalar position_of_extremum(const Definition& d, Reduction extremum, Index extent, bool last,
                            const std::function<std::vector<Index>(Index position)>& at) {
  const auto element = [&](Index k) { return d.read(0, at(k)); };
  const Scalar best = d.reduce(extremum, extent, element);
  return d.reduce(
      last ? Reduction::kMax : Reduction::kMin, extent, [](Index k) { return scalar_of(k); },
      [&](Index k) {  // negated, so that some position qualifies even among NaN
        return !(extremum == Reduction::kMax ? less(element(k), best) : less(best, element(k)));
      });
}

namespace {

void define(Definition& d, Reduction extremum) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  if (!d.require_axis(axis, d.rank(0))) return;
  const bool keepdims = d.flag("keepdims");
  const Index extent = d.dim(0, static_cast<int>(axis));
  if (!d.require(extent >= 1, "reduces over an empty axis")) return;
  Dims dims = d.dims(0);
  if (keepdims) {
    dims[static_cast<std::size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  const auto out = d.output(DType::kI64, dims);
  d.value(position_of_extremum(d, extremum, extent, d.flag("select_last_index"), [&](Index k) {
    std::vector<Index> at(out.begin(), out.end());
    if (keepdims) at.erase(at.begin() + axis);
    at.insert(at.begin() + axis, k);
    return at;
  }));
}

base::Status write(OnnxWriter& writer, const std::string& onnx_name) {
  const bool last = writer.attrs().integer("select_last_index") != 0;
  if (last) writer.needs_opset(12);
  std::vector<OnnxWriter::Attribute> attributes{{"axis", writer.attrs().integer("axis")},
                                                {"keepdims", writer.attrs().integer("keepdims")}};
  if (last) attributes.push_back({"select_last_index", std::int64_t{1}});
  writer.emit(onnx_name, {writer.input(0)}, std::move(attributes));
  return base::ok();
}

}  // namespace

Operator arg_reduction_operator(std::string name, std::string doc, std::string onnx_name,
                                Reduction extremum) {
  Operator op = primitive(std::move(name), std::move(doc), {"x"})
                    .attr("axis", AttrKind::kInteger, "the reduced axis")
                    .attr("keepdims", std::int64_t{1}, "1 keeps the axis with size 1, 0 drops it")
                    .attr("select_last_index", std::int64_t{0}, "which of equals: 0 first, 1 last")
                    .shown_on({"f32[M,N]"}, {{"axis", std::int64_t{1}}})
                    .defined_by([extremum](Definition& d) { define(d, extremum); });
  OnnxImport import = axis_import(op, 0);
  return std::move(op)
      .onnx_import(onnx_name, std::move(import))
      .onnx_export([onnx_name](OnnxWriter& writer) { return write(writer, onnx_name); });
}

}  // namespace egret::ir
