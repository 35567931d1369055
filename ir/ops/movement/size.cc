// SPDX-License-Identifier: Apache-2.0
#include "ir/core/index_arithmetic.h"
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  d.output(DType::kI64, {});
  d.value(scalar_of(product(d.dims(0))));
}

// A constant when all the sizes are known.
OnnxOutputs import(OnnxNode& node) {
  const TensorType& type = node.type(node.input(0));
  if (!type.is_concrete()) return only_output(node.builder().add("size", {node.input(0)}));
  return only_output(node.builder().scalar(DType::kI64, static_cast<double>(type.elements())));
}

}  // namespace

Operator size() {
  return primitive("size", "The number of elements of x", {"x"})
      .defined_by(define)
      .onnx_import("Size", import)
      .onnx_export(same_name_export("Size"));
}

}  // namespace egret::ir::ops
