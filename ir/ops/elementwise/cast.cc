// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const std::optional<DType> to = parse_dtype(d.text("to"));
  if (!to) {
    d.fail("there is no element type '" + d.text("to") + "'");
    return;
  }
  d.pointwise_as(*to, [&](std::span<const Scalar> x) { return cast(*to, x[0]); });
}

base::Result<std::vector<Value>> cast_to(OnnxNode& node, DType type) {
  return only_output(
      node.builder().add("cast", {node.input(0)}, {{"to", std::string(to_string(type))}}));
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  const std::int64_t code = node.integer("to", 0);
  const std::optional<DType> type = dtype_from_onnx(code);
  if (!type) return base::unsupported("cast to ONNX element type " + std::to_string(code));
  return cast_to(node, *type);
}

base::Result<std::vector<Value>> import_like(OnnxNode& node) {
  return cast_to(node, node.type(node.input(1)).dtype);
}

base::Status write(OnnxWriter& writer) {
  const DType from = writer.input_type(0).dtype;
  if (from == DType::kBF16 || writer.output_type().dtype == DType::kBF16) writer.needs_opset(13);
  writer.emit("Cast", {writer.input(0)}, {{"to", onnx_code(writer.output_type().dtype)}});
  return base::ok();
}

}  // namespace

Operator cast() {
  return primitive("cast", "x converted to another element type", {"x"})
      .attr("to", AttrKind::kText, "the element type, such as f32 or i64")
      .shown_on({"f32[N]"}, {{"to", std::string("f16")}})
      .defined_by(define)
      .onnx_import("Cast", import)
      .onnx_import("CastLike", import_like)
      .onnx_export(write);
}

}  // namespace egret::ir::ops
