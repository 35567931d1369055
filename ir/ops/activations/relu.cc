// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir::ops {
namespace {

// Relu takes integers since opset 14, but engines have it for few of them; Max has more.
base::Status write(OnnxWriter& writer) {
  const DType type = writer.output_type().dtype;
  if (!is_integer(type)) {
    writer.emit("Relu", writer.inputs());
    return base::ok();
  }
  writer.needs_opset(12);
  writer.emit("Max", {writer.input(0), writer.constant(Tensor::scalar(type, 0))});
  return base::ok();
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  return only_output(node.builder().add("relu", {node.input(0)}));
}

}  // namespace

Operator relu() {
  return primitive("relu", "max(x, 0), elementwise", {"x"})
      .defined_by([](Definition& d) {
        if (d.require_dtype(0, has_sign(d.dtype(0)), "a tensor of numbers that have a sign"))
          d.pointwise([](Scalar x) { return max(x, 0); });
      })
      .onnx_import("Relu", import)
      .onnx_export(write, 7);
}

}  // namespace egret::ir::ops
