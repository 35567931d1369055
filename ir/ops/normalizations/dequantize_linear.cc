// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/quantization.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  GraphBuilder& g = b.builder();
  const std::int64_t axis = b.integer("axis");
  const Value centered = centered_integers(g, b.input(0), b.input(2), axis);
  return b("mul", {converted(g, centered, b.dtype(1)), along_axis(g, b.input(1), axis, b.rank(0))});
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  if (node.integer("block_size", 0) != 0) return base::unsupported("quantization by blocks");
  GraphBuilder& b = node.builder();
  std::vector<Value> inputs{node.input(0), one_for_all(b, node.input(1))};
  if (node.has_input(2)) inputs.push_back(one_for_all(b, node.input(2)));
  const int rank = node.type(node.input(0)).rank();
  const bool by_axis = node.type(inputs[1]).rank() > 0;
  const std::int64_t axis = by_axis ? node.axis(node.integer("axis", 1), rank) : 0;
  return only_output(node.builder().add("dequantize_linear", inputs, {{"axis", axis}}));
}

base::Status write(OnnxWriter& writer) {
  const bool by_axis = writer.input_type(1).rank() > 0;
  if (by_axis && writer.opset() < 13) {
    return base::unsupported("DequantizeLinear along an axis needs opset 13");
  }
  std::vector<std::string> inputs = writer.inputs();
  std::vector<OnnxWriter::Attribute> attributes;
  if (by_axis) attributes.push_back({"axis", writer.attrs().integer("axis")});
  writer.emit("DequantizeLinear", std::move(inputs), std::move(attributes));
  return base::ok();
}

}  // namespace

Operator dequantize_linear() {
  return composite("dequantize_linear", "(x - zero) * scale", {"x", "scale", "zero"})
      .optional_inputs(1)
      .attr("axis", std::int64_t{0}, "the axis that scale and zero go along when they are vectors")
      .shown_on({"u8[M,N]", "f32[]", "u8[]"})
      .with_body(build)
      .onnx_import("DequantizeLinear", import)
      .onnx_export(write, 10);
}

}  // namespace egret::ir::ops
