// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

void define(Definition& d) {
  const double low = d.real("min");
  const double high = d.real("max");
  d.pointwise([&](Scalar x) {
    const Scalar raised = std::isinf(low) && low < 0 ? x : max(x, low);
    return std::isinf(high) && high > 0 ? raised : min(raised, high);
  });
}

// A bound that an attribute can hold: known now and exact as a double.
std::optional<double> known_bound(const OnnxNode& node, int i, double otherwise) {
  if (!node.has_input(i)) return otherwise;
  const std::optional<Tensor> bound = node.constant(i);
  if (!bound || bound->elements() != 1) return std::nullopt;
  const double value = bound->f64_at(0);
  if (!is_float(bound->dtype()) && std::abs(value) >= 0x1p53) return std::nullopt;
  return value;
}

// Bounds are attributes up to opset 10, inputs afterwards.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  std::optional<double> low = node.real("min", -kUnbounded);
  std::optional<double> high = node.real("max", kUnbounded);
  if (node.opset() >= 11) {
    low = known_bound(node, 1, -kUnbounded);
    high = known_bound(node, 2, kUnbounded);
  }
  if (low && high) return only_output(b.add("clip", {x}, {{"min", *low}, {"max", *high}}));
  const Value raised = node.has_input(1) ? b.add("max", {x, node.input(1)}) : x;
  return only_output(node.has_input(2) ? b.add("min", {raised, node.input(2)}) : raised);
}

base::Status write(OnnxWriter& writer) {
  const double low = writer.attrs().real("min");
  const double high = writer.attrs().real("max");
  const bool has_low = low > -kUnbounded;
  const bool has_high = high < kUnbounded;
  const DType type = writer.output_type().dtype;
  if (!has_low && !has_high) {
    writer.emit("Identity", {writer.input(0)});
  } else if (writer.opset() < 11) {
    std::vector<OnnxWriter::Attribute> bounds;
    if (has_low) bounds.push_back({"min", low});
    if (has_high) bounds.push_back({"max", high});
    writer.emit("Clip", {writer.input(0)}, std::move(bounds));
  } else {
    std::vector<std::string> inputs{
        writer.input(0), has_low ? writer.constant(Tensor::scalar(type, low)) : std::string()};
    if (has_high) inputs.push_back(writer.constant(Tensor::scalar(type, high)));
    writer.emit("Clip", std::move(inputs));
  }
  return base::ok();
}

}  // namespace

Operator clip() {
  return primitive("clip", "min(max(x, low), high), elementwise", {"x"})
      .attr("min", -kUnbounded, "the lower bound")
      .attr("max", kUnbounded, "the upper bound, which wins where they cross")
      .defined_by(define)
      .onnx_import("Clip", import)
      .onnx_export(write);
}

}  // namespace egret::ir::ops
