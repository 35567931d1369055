// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/builder.h"
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

// ONNX defines 0 for a norm of 0, while lp_norm is a quotient.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  const TensorType type = node.type(x);
  const std::int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2) return base::bad_input("p must be 1 or 2");
  const std::int64_t axis = node.axis(node.integer("axis", -1), type.rank());
  const Value norm = b.add(p == 1 ? "reduce_l1" : "reduce_l2", {x}, reduction_attrs({axis}, true));
  const Value is_zero = b.add("equal", {norm, b.scalar(type.dtype, 0)});
  return only_output(b.add("div", {x, b.add("where", {is_zero, b.scalar(type.dtype, 1), norm})}));
}

}  // namespace

Operator lp_norm() {
  Operator op = composite("lp_norm", "x divided by its p-norm along an axis", {"x"})
                    .attr("axis", AttrKind::kInteger, "the axis")
                    .attr("p", std::int64_t{2}, "which norm: 1 or 2")
                    .shown_on({"f32[M,N]"}, {{"axis", std::int64_t{1}}})
                    .with_body(build);
  return std::move(op)
      .onnx_import("LpNormalization", import)
      .onnx_export(same_name_export("LpNormalization"));
}

}  // namespace egret::ir::ops
