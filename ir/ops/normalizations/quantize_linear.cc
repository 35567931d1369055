// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/quantization.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const std::optional<DType> to = parse_dtype(b.text("to"));
  if (!to) return b.fail("there is no element type '" + b.text("to") + "'");
  GraphBuilder& g = b.builder();
  const std::int64_t axis = b.integer("axis");
  const int rank = b.rank(0);
  const Value x = converted(g, b.input(0), b.dtype(1));
  const Value ratio = b("div", {x, along_axis(g, b.input(1), axis, rank)});
  const Value zero = b.input(2);
  return rounded_to(g, ratio, zero.valid() ? along_axis(g, zero, axis, rank) : zero, *to);
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  if (node.integer("block_size", 0) != 0) return base::unsupported("quantization by blocks");
  std::vector<Value> inputs{node.input(0), one_for_all(node.builder(), node.input(1))};
  DType type = DType::kU8;
  if (const auto given = dtype_from_onnx(node.integer("output_dtype", 0))) type = *given;
  if (node.has_input(2)) {
    inputs.push_back(one_for_all(node.builder(), node.input(2)));
    type = node.type(node.input(2)).dtype;
  }
  const int rank = node.type(node.input(0)).rank();
  const bool by_axis = node.type(inputs[1]).rank() > 0;
  const std::int64_t axis = by_axis ? node.axis(node.integer("axis", 1), rank) : 0;
  return only_output(node.builder().add("quantize_linear", inputs,
                                        {{"axis", axis}, {"to", std::string(to_string(type))}}));
}

// Scale and zero point from the range of x, which is made to contain 0.
base::Result<std::vector<Value>> import_dynamic(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  const DType real = node.type(x).dtype;
  const Attrs all = reduction_attrs(axes_from(0, node.type(x).rank()), false);
  const Value nothing = b.scalar(real, 0);
  const Value low = b.add("min", {b.add("reduce_min", {x}, all), nothing});
  const Value high = b.add("max", {b.add("reduce_max", {x}, all), nothing});
  const Value scale = b.add("div", {b.add("sub", {high, low}), b.scalar(real, 255)});
  const Value zero = rounded_to(b, b.add("neg", {b.add("div", {low, scale})}), Value{}, DType::kU8);
  const Value y = b.add("quantize_linear", {x, scale, zero}, {{"to", std::string("u8")}});
  return std::vector<Value>{y, scale, zero};
}

base::Status write(OnnxWriter& writer) {
  const bool has_zero = writer.input_count() > 2;
  if (!has_zero && writer.attrs().text("to") != "u8") {
    return base::unsupported("QuantizeLinear to another type than u8 without zero point");
  }
  const bool by_axis = writer.input_type(1).rank() > 0;
  if (by_axis && writer.opset() < 13) {
    return base::unsupported("QuantizeLinear along an axis needs opset 13");
  }
  std::vector<std::string> inputs{writer.input(0), writer.input(1)};
  if (has_zero) inputs.push_back(writer.input(2));
  std::vector<OnnxWriter::Attribute> attributes;
  if (by_axis) attributes.push_back({"axis", writer.attrs().integer("axis")});
  writer.emit("QuantizeLinear", std::move(inputs), std::move(attributes));
  return base::ok();
}

}  // namespace

Operator quantize_linear() {
  return composite("quantize_linear", "round(x / scale) + zero, clipped to an integer type",
                   {"x", "scale", "zero"})
      .optional_inputs(1)
      .attr("axis", std::int64_t{0}, "the axis that scale and zero go along when they are vectors")
      .attr("to", AttrKind::kText, "the integer type, such as u8")
      .shown_on({"f32[M,N]", "f32[]", "u8[]"}, {{"to", std::string("u8")}})
      .with_body(build)
      .onnx_import("QuantizeLinear", import)
      .onnx_import("DynamicQuantizeLinear", import_dynamic)
      .onnx_export(write, 10);
}

}  // namespace egret::ir::ops
