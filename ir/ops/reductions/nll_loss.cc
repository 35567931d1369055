// SPDX-License-Identifier: Apache-2.0
#include "ir/core/size_reference.h"
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

// x[N, C, ...] are log-probabilities, target[N, ...] classes.
Value build(Body& b) {
  const Value x = b.input(0);
  const std::string& reduction = b.text("reduction");
  const bool ignores = b.flag("ignores");
  const int rank = b.rank(0);
  const DType real = b.dtype(0);
  if (rank < 2 || b.rank(1) != rank - 1) return b.fail("x is [N, C, ...], target [N, ...]");
  if (b.input_count() > 2) {
    const TensorType& weights = b.type(b.input(2));
    const Index classes = b.type(x).dims[1];
    if (weights.rank() != 1 ||
        (classes.is_constant() && weights.dims[0].is_constant() && !weights.dims[0].same(classes)))
      return b.fail("there are " + to_string(classes) + " classes, their weights are " +
                    to_string(weights));
  }
  const auto number = [&](double value) { return b.scalar(real, value); };

  Value target = b.input(1);
  Value ignored;
  if (ignores) {
    const auto index = static_cast<double>(b.integer("ignore_index"));
    // An ignored target reads class 0, which exists, and has weight 0.
    ignored = b("equal", {target, b.scalar(b.dtype(1), index)});
    target = b("where", {ignored, b.scalar(b.dtype(1), 0), target});
  }
  const TensorType flat = b.type(target);
  Integers column{target_of_axis(flat, 0), 1};
  for (int axis = 1; axis < flat.rank(); ++axis) column.push_back(target_of_axis(flat, axis));
  const Value picked = b("gather_elements", {x, b("reshape", {target}, {{"shape", column}})},
                         {{"axis", std::int64_t{1}}});
  Value loss = b("neg", {b("reduce_sum", {picked}, reduction_attrs({1}, false))});

  Value weight;
  if (b.input_count() > 2) {
    weight = b("gather", {b.input(2), target}, {{"axis", std::int64_t{0}}});
    if (ignores) weight = b("where", {ignored, number(0), weight});
  } else if (ignores) {
    weight = b("where", {ignored, number(0), number(1)});
  }
  if (weight.valid()) loss = b("mul", {loss, weight});
  const Attrs all = reduction_attrs(axes_from(0, rank - 1), false);
  if (reduction == "none") return loss;
  if (reduction == "sum") return b("reduce_sum", {loss}, all);
  if (reduction != "mean") return b.fail("reduction must be none, sum or mean");
  if (!weight.valid()) return b("reduce_mean", {loss}, all);
  return b("div", {b("reduce_sum", {loss}, all), b("reduce_sum", {weight}, all)});
}

Value add_loss(OnnxNode& node, Value log_probabilities) {
  std::vector<Value> inputs{log_probabilities, node.input(1)};
  if (node.has_input(2)) inputs.push_back(node.input(2));
  const std::int64_t ignores = node.has_attr("ignore_index") ? 1 : 0;
  return node.builder().add("nll_loss", inputs,
                            {{"reduction", node.text("reduction", "mean")},
                             {"ignores", ignores},
                             {"ignore_index", node.integer("ignore_index", 0)}});
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  return only_output(add_loss(node, node.input(0)));
}

base::Result<std::vector<Value>> import_cross_entropy(OnnxNode& node) {
  const Value log_probabilities =
      node.builder().add("log_softmax", {node.input(0)}, {{"axis", std::int64_t{1}}});
  return std::vector<Value>{add_loss(node, log_probabilities), log_probabilities};
}

base::Status write(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  std::vector<std::string> inputs = writer.inputs();
  std::vector<OnnxWriter::Attribute> attributes{{"reduction", attrs.text("reduction")}};
  if (attrs.integer("ignores") != 0) {
    attributes.push_back({"ignore_index", attrs.integer("ignore_index")});
  }
  writer.emit("NegativeLogLikelihoodLoss", std::move(inputs), std::move(attributes));
  return base::ok();
}

}  // namespace

Operator nll_loss() {
  return composite("nll_loss", "The negated log-probability of the target class, weighted by class",
                   {"x", "target", "weight"})
      .optional_inputs(1)
      .attr("reduction", std::string("mean"), "none; sum; mean: sum divided by that of the weights")
      .one_of({"none", "sum", "mean"})
      .attr("ignores", std::int64_t{0}, "1: targets equal to ignore_index have weight 0")
      .attr("ignore_index", std::int64_t{0}, "see ignores")
      .shown_on({"f32[N,C]", "i64[N]"})
      .with_body(build)
      .onnx_import("NegativeLogLikelihoodLoss", import)
      .onnx_import("SoftmaxCrossEntropyLoss", import_cross_entropy)
      .onnx_export(write, 12);
}

}  // namespace egret::ir::ops
