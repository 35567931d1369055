// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const std::int64_t axis = d.axis("axis", d.rank(0));
  if (!d.require_axis(axis, d.rank(0))) return;
  std::vector<Index> at = d.output(d.dtype(0), d.dims(0));
  Index& i = at[static_cast<std::size_t>(axis)];
  i = d.dim(0, static_cast<int>(axis)) - 1 - i;
  d.value(d.read(0, at));
}

base::Status write(OnnxWriter& writer) {
  writer.emit("Slice", {writer.input(0), writer.constant_integers({-1}),
                        writer.constant_integers({std::numeric_limits<std::int64_t>::min()}),
                        writer.constant_integers({writer.attrs().integer("axis")}),
                        writer.constant_integers({-1})});
  return base::ok();
}

}  // namespace

// ONNX Slice, from the last element with step -1, is imported by slice.
Operator reverse() {
  return primitive("reverse", "The elements of one axis in opposite order", {"x"})
      .attr("axis", AttrKind::kInteger, "the reversed axis")
      .shown_on({"f32[M,N]"}, {{"axis", std::int64_t{1}}})
      .defined_by(define)
      .onnx_export(write, 10);
}

}  // namespace egret::ir::ops
