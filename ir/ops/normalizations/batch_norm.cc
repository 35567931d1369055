// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/adjoint.h"
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/normalization_definition.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

// x * s + t with s = scale / sqrt(var + epsilon), t = bias - mean * s: what depends on weights
// alone stands by itself, so that it can be computed once and merged into a convolution.
Value build(Body& b) {
  const Value mean = b.input(3);
  const Value shifted = b("add", {b.input(4), b.scalar(b.dtype(4), b.real("epsilon"))});
  const Value s = b("div", {b.input(1), b("sqrt", {shifted})});
  const Value t = b("sub", {b.input(2), b("mul", {mean, s})});
  return scaled_per_channel(b.builder(), b.input(0), s, t);
}

// Training normalizes by the moments of the batch, and moves the running ones towards them.
base::Result<std::vector<Value>> import_training(OnnxNode& node, const Attrs& attrs) {
  if (node.opset() < 14) return base::unsupported("BatchNormalization in training below opset 14");
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  Integers axes = axes_from(1, node.type(x).rank());
  axes.front() = 0;  // all but the channels
  const Attrs over = reduction_attrs(axes, false);
  const Value mean = b.add("reduce_mean", {x}, over);
  const Value centered = moments(b, x, axes, 0).centered;
  const Value variance = b.add("reduce_mean", {b.add("mul", {centered, centered})}, over);
  const double momentum = node.real("momentum", double{0.9F});
  const auto moved = [&](Value running, Value now) {
    const DType type = b.type(running).dtype;
    return b.add("add", {b.add("mul", {running, b.scalar(type, momentum)}),
                         b.add("mul", {now, b.scalar(type, 1 - momentum)})});
  };
  return std::vector<Value>{
      b.add("batch_norm", {x, node.input(1), node.input(2), mean, variance}, attrs),
      moved(node.input(3), mean), moved(node.input(4), variance)};
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  for (int i = 0; i < 5; ++i) {
    if (!node.has_input(i)) return base::bad_input("input " + std::to_string(i) + " is missing");
  }
  const Attrs attrs{{"epsilon", node.real("epsilon", double{1e-5F})}};
  if (node.type(node.input(0)).rank() < 2) return base::bad_input("the input has no channels");
  if (node.integer("training_mode", 0) != 0 || node.has_output(1)) {
    return import_training(node, attrs);
  }
  node.real("momentum", 0);  // of training alone
  if (node.integer("spatial", 1) == 0) {
    return base::unsupported("BatchNormalization with spatial=0");
  }
  GraphBuilder& b = node.builder();
  const DType type = node.type(node.input(0)).dtype;
  std::vector<Value> inputs;
  for (int i = 0; i < 5; ++i) {  // from opset 15 on the moments may have another type
    const bool same = node.type(node.input(i)).dtype == type;
    inputs.push_back(same ? node.input(i)
                          : b.add("cast", {node.input(i)}, {{"to", std::string(to_string(type))}}));
  }
  return only_output(b.add("batch_norm", inputs, attrs));
}

}  // namespace

Operator batch_norm() {
  return measured_inputs(
      composite("batch_norm",
                "(x - mean) / sqrt(var + epsilon) * scale + bias, all per channel (axis 1)",
                {"x", "scale", "bias", "mean", "var"})
          .attr("epsilon", double{1e-5F}, "keeps the root away from 0")
          .shown_on({"f32[N,C,H,W]", "f32[C]", "f32[C]", "f32[C]", "f32[C]"})
          .with_body(build)
          .onnx_import("BatchNormalization", import)
          .onnx_export(same_name_export("BatchNormalization"), 9),
      {3, 4});
}

}  // namespace egret::ir::ops
