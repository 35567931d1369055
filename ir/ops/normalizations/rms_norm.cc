// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/normalization_definition.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

// The operations and their order are those of Llama's exports.
Value build(Body& b) {
  const Value x = b.input(0);
  const Attrs over = reduction_attrs(axes_from(b.axis("axis"), b.rank(0)), true);
  const Value square = b("reduce_mean", {b("mul", {x, x})}, over);
  const Value root = b("sqrt", {b("add", {square, b.scalar(b.dtype(0), b.real("epsilon"))})});
  return b("mul", {b("div", {x, root}), b.input(1)});
}

// ONNX Runtime's SkipSimplifiedLayerNormalization. Outputs: the result; mean and deviation; the
// sum.
base::Result<std::vector<Value>> import_skipping(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  EGRET_ASSIGN_OR_RETURN(const Value sum, skip_sum(node, 3));
  const std::int64_t axis = b.type(sum).rank() - 1;
  const double epsilon = node.real("epsilon", double{1e-12F});
  return std::vector<Value>{
      b.add("rms_norm", {sum, node.input(2)}, {{"axis", axis}, {"epsilon", epsilon}}), {}, {}, sum};
}

}  // namespace

Operator rms_norm() {
  Operator op = composite("rms_norm",
                          "x / sqrt(mean(x * x) + epsilon) * scale, with the mean over all axes "
                          "from `axis` on",
                          {"x", "scale"})
                    .attr("axis", AttrKind::kInteger, "the first normalized axis")
                    .attr("epsilon", double{1e-5F}, "keeps the root away from 0")
                    .shown_on({"f32[B,S,768]", "f32[768]"}, {{"axis", std::int64_t{2}}})
                    .with_body(build);
  OnnxImport import = axis_import(op, -1);
  return std::move(op)
      .onnx_import("RMSNormalization", import)
      .onnx_import("SimplifiedLayerNormalization", import)  // ONNX Runtime's name for it
      .onnx_import("SkipSimplifiedLayerNormalization", import_skipping, "com.microsoft")
      .onnx_export(same_name_export("RMSNormalization"), 23);
}

}  // namespace egret::ir::ops
