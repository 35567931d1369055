// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

// Mean of its inputs.
base::Result<std::vector<Value>> import_mean(OnnxNode& node) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<Value> sum, chain_import("add")(node));
  GraphBuilder& b = node.builder();
  const Value count = b.scalar(b.type(sum[0]).dtype, node.input_count());
  return only_output(node.input_count() == 1 ? sum[0] : b.add("div", {sum[0], count}));
}

}  // namespace

Operator add() {
  return primitive("add", "a + b, elementwise with broadcasting", {"a", "b"})
      .defined_by([](Definition& d) { d.pointwise([](Scalar a, Scalar b) { return a + b; }); })
      .onnx("Add")
      .onnx_import("Sum", chain_import("add"))
      .onnx_import("Mean", import_mean);
}

}  // namespace egret::ir::ops
