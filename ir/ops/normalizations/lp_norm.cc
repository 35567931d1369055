// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const std::int64_t p = b.integer("p");
  if (p != 1 && p != 2) return b.fail("p must be 1 or 2");
  const Attrs over = reduction_attrs({b.axis("axis")}, true);
  return b("div", {b.input(0), b(p == 1 ? "reduce_l1" : "reduce_l2", {b.input(0)}, over)});
}

}  // namespace

Operator lp_norm() {
  Operator op = composite("lp_norm", "x divided by its p-norm along an axis", {"x"})
                    .attr("axis", AttrKind::kInteger, "the axis")
                    .attr("p", std::int64_t{2}, "which norm: 1 or 2")
                    .shown_on({"f32[M,N]"}, {{"axis", std::int64_t{1}}})
                    .with_body(build);
  OnnxImport import = axis_import(op, -1);
  return std::move(op)
      .onnx_import("LpNormalization", std::move(import))
      .onnx_export(same_name_export("LpNormalization"));
}

}  // namespace egret::ir::ops
