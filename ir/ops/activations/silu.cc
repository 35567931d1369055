// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) { return b("mul", {b.input(0), b("sigmoid", {b.input(0)})}); }

// ONNX Runtime's QuickGelu: x * sigmoid(alpha * x).
base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  const double alpha = node.real("alpha", double{1.702F});
  if (alpha == 1) return only_output(b.add("silu", {x}));
  const Value inner = b.add("mul", {x, b.scalar(b.type(x).dtype, alpha)});
  return only_output(b.add("mul", {x, b.add("sigmoid", {inner})}));
}

}  // namespace

Operator silu() {
  return composite("silu", "x * sigmoid(x), also called swish", {"x"})
      .with_body(build)
      .onnx_import("QuickGelu", import, "com.microsoft");
}

}  // namespace egret::ir::ops
