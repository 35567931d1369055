// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

// Up to opset 6 a slope of rank 1 was one number a channel (axis 1); since then it broadcasts.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  const Value x = node.input(0);
  Value slope = node.input(1);
  if (node.opset() < 7 && node.type(slope).rank() == 1 && node.type(x).rank() > 2) {
    Integers target(static_cast<std::size_t>(node.type(x).rank() - 1), 1);
    target.front() = -1;
    slope = node.builder().add("reshape", {slope}, {{"shape", std::move(target)}});
  }
  return only_output(node.builder().add("prelu", {x, slope}));
}

}  // namespace

Operator prelu() {
  return primitive("prelu", "x where x >= 0, else slope * x; slope broadcasts to x", {"x", "slope"})
      .shown_on({"f32[N,C]", "f32[C]"})
      .defined_by([](Definition& d) {
        d.pointwise([](Scalar x, Scalar slope) { return select(less(x, 0), slope * x, x); });
      })
      .onnx_import("PRelu", import)
      .onnx_export(same_name_export("PRelu"), 7);
}

}  // namespace egret::ir::ops
