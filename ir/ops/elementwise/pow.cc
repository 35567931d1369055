// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const DType type = d.dtype(0);
  d.pointwise([&](Scalar a, Scalar b) {
    if (is_float(type)) return call(Function::kPow, {a, b});
    return cast(type, call(Function::kPow, {cast(DType::kF64, a), cast(DType::kF64, b)}));
  });
}

// ONNX lets the exponent have a type of its own; the result has that of the base.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const auto as = [&](Value value, DType type) {
    if (node.type(value).dtype == type) return value;
    return b.add("cast", {value}, {{"to", std::string(to_string(type))}});
  };
  const DType base = node.type(node.input(0)).dtype;
  const DType exponent = node.type(node.input(1)).dtype;
  const DType joint = !is_float(base) && is_float(exponent) ? DType::kF64 : base;
  return only_output(as(b.add("pow", {as(node.input(0), joint), as(node.input(1), joint)}), base));
}

}  // namespace

Operator pow_() {
  return primitive("pow", "a to the b, elementwise with broadcasting", {"a", "b"})
      .defined_by(define)
      .onnx_import("Pow", import)
      .onnx_export(same_name_export("Pow"), 7);
}

}  // namespace egret::ir::ops
