// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/normalization_definition.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Moments m = moments(b.builder(), b.input(0), b.axes("axes"), 0);
  return b("div", {m.centered, b("add", {m.deviation, b.scalar(b.dtype(0), 1e-9)})});
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  const Value x = node.input(0);
  Integers axes = node.integers("axes", {0, 2, 3});
  for (std::int64_t& axis : axes) axis = node.axis(axis, node.type(x).rank());
  return only_output(node.builder().add("mean_variance_norm", {x}, {{"axes", axes}}));
}

}  // namespace

Operator mean_variance_norm() {
  return composite("mean_variance_norm", "(x - mean) / (standard deviation + 1e-9), both over axes",
                   {"x"})
      .attr("axes", AttrKind::kIntegers, "the normalized axes, ascending")
      .shown_on({"f32[N,C,H,W]"}, {{"axes", Integers{0, 2, 3}}})
      .with_body(build)
      .onnx_import("MeanVarianceNormalization", import)
      .onnx_export(same_name_export("MeanVarianceNormalization"), 9);
}

}  // namespace egret::ir::ops
