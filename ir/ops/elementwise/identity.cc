// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

// Dropout does nothing at inference. From opset 12 on, input 2 can ask for training, which draws
// random numbers unless the ratio (input 1) is 0.
base::Result<std::vector<Value>> import_dropout(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  node.integer("seed", 0);  // of training alone, as is the ratio
  node.real("ratio", 0.5);
  if (node.has_input(2)) {
    const std::optional<Tensor> training = node.constant(2);
    const std::optional<Tensor> ratio = node.has_input(1) ? node.constant(1) : std::nullopt;
    const bool drops_nothing = ratio && ratio->elements() == 1 && ratio->f64_at(0) == 0;
    if (!training || (training->elements() == 1 && training->i64_at(0) != 0 && !drops_nothing)) {
      return base::unsupported("dropout in training mode, which is random");
    }
  }
  std::vector<Value> outputs{b.add("identity", {x})};
  if (node.has_output(1)) {
    Value mask = b.add("not", {b.add("less", {x, x})});  // true everywhere, NaN included
    if (node.opset() < 10) {
      mask = b.add("cast", {mask}, {{"to", std::string(to_string(b.type(x).dtype))}});
    }
    outputs.push_back(mask);
  }
  return outputs;
}

}  // namespace

Operator identity() {
  return primitive("identity", "x", {"x"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar x) { return x; }); })
      .onnx("Identity")
      .onnx_import("Dropout", import_dropout);
}

}  // namespace egret::ir::ops
