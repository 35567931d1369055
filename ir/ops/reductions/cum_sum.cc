// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/adjoint.h"
#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  if (!d.require_axis(axis, d.rank(0))) return;
  const bool exclusive = d.flag("exclusive");
  const bool reverse = d.flag("reverse");
  const auto out = d.output(d.dtype(0), d.dims(0));
  if (!d.ok()) return;
  const auto along = static_cast<std::size_t>(axis);
  // Each element sums the whole axis under a guard. The definition is quadratic: it states the
  // meaning, not a way to compute it.
  d.value(d.sum(
      d.dim(0, static_cast<int>(axis)),
      [&](Index k) {
        std::vector<Index> at(out.begin(), out.end());
        at[along] = k;
        return d.read(0, at);
      },
      [&](Index k) {
        const Index low = reverse ? out[along] : k;
        const Index high = reverse ? k : out[along];
        return exclusive ? low < high : low <= high;
      }));
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  const Value x = node.input(0);
  const std::optional<Integers> axis = node.constant_integers(1);
  if (!axis) return base::unsupported("an axis that is computed at run time");
  if (axis->size() != 1) return base::bad_input("axis must be one number");
  return only_output(node.builder().add("cum_sum", {x},
                                        {{"axis", node.axis(axis->front(), node.type(x).rank())},
                                         {"exclusive", node.integer("exclusive", 0)},
                                         {"reverse", node.integer("reverse", 0)}}));
}

base::Status write(OnnxWriter& writer) {
  const double axis = static_cast<double>(writer.attrs().integer("axis"));
  writer.emit("CumSum", {writer.input(0), writer.constant(Tensor::scalar(DType::kI64, axis))},
              {{"exclusive", writer.attrs().integer("exclusive")},
               {"reverse", writer.attrs().integer("reverse")}});
  return base::ok();
}

// An element is in the sums of those after it.
std::vector<Value> differentiate(Adjoint& a) {
  Attrs attrs = a.attrs();
  attrs.set("reverse", 1 - attrs.integer("reverse"));
  return {a("cum_sum", {a.gradient()}, attrs)};
}

}  // namespace

Operator cum_sum() {
  return differentiated_by(
      primitive("cum_sum", "Sum of an element and those before it along an axis", {"x"})
          .attr("axis", AttrKind::kInteger, "the axis")
          .attr("exclusive", std::int64_t{0}, "1 leaves the element itself out")
          .attr("reverse", std::int64_t{0}, "1 sums those after it instead")
          .shown_on({"f32[M,N]"}, {{"axis", std::int64_t{1}}})
          .defined_by(define)
          .onnx_import("CumSum", import)
          .onnx_export(write, 11),
      differentiate);
}

}  // namespace egret::ir::ops
