// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/normalization_definition.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Integers axes = axes_from(b.axis("axis"), b.rank(0));
  const Moments m = moments(b.builder(), b.input(0), axes, b.real("epsilon"));
  const Value scaled = b("mul", {b("div", {m.centered, m.deviation}), b.input(1)});
  return b.input_count() > 2 ? b("add", {scaled, b.input(2)}) : scaled;
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::vector<Value> inputs = node.inputs();
  const Value x = node.input(0);
  const int rank = node.type(x).rank();
  const std::int64_t axis = node.axis(node.integer("axis", -1), rank);
  const double epsilon = node.real("epsilon", double{1e-5F});
  std::vector<Value> outputs{b.add("layer_norm", inputs, {{"axis", axis}, {"epsilon", epsilon}})};
  if (node.has_output(1) || node.has_output(2)) {
    const Moments m = moments(b, x, axes_from(axis, rank), epsilon);
    outputs.push_back(m.mean);
    outputs.push_back(b.add("reciprocal", {m.deviation}));
  }
  return outputs;
}

}  // namespace

Operator layer_norm() {
  return composite("layer_norm",
                   "(x - mean) / sqrt(variance + epsilon) * scale + bias, with the moments over "
                   "all axes from `axis` on",
                   {"x", "scale", "bias"})
      .optional_inputs(1)
      .attr("axis", AttrKind::kInteger, "the first normalized axis")
      .attr("epsilon", double{1e-5F}, "keeps the root away from 0")
      .shown_on({"f32[B,S,768]", "f32[768]", "f32[768]"}, {{"axis", std::int64_t{2}}})
      .with_body(build)
      .onnx_import("LayerNormalization", import)
      .onnx_export(same_name_export("LayerNormalization"), 17);
}

}  // namespace egret::ir::ops
