// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ir/graph/operator.h"
#include "ir/ops/activation.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Value outer = fused_epilogue(b, "fused_matmul", 3);
  if (outer.valid() || !b.builder().ok()) return outer;
  const Value product = b("matmul", {b.input(0), b.input(1)});
  const TensorType type = b.type(product);
  const Value sum = b("add", {product, b.input(2)});
  if (b.builder().ok() && !(b.type(sum) == type)) {
    return b.fail("the bias " + to_string(b.type(b.input(2))) + " does not broadcast to " +
                  to_string(type));
  }
  return sum;
}

Value transposed_if(GraphBuilder& b, bool wanted, Value matrix) {
  return wanted ? b.add("transpose", {matrix}, {{"perm", Integers{1, 0}}}) : matrix;
}

Value scaled(GraphBuilder& b, Value x, double factor) {
  return factor == 1 ? x : b.add("mul", {x, b.scalar(b.type(x).dtype, factor)});
}

// Gemm: alpha * A' * B' + beta * C. The factors go to B and C, which mostly are weights.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  if (node.type(node.input(0)).rank() != 2 || node.type(node.input(1)).rank() != 2) {
    return base::bad_input("Gemm takes matrices");
  }
  const double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const bool whole = alpha == std::trunc(alpha) && beta == std::trunc(beta);
  if (!is_float(node.type(node.input(0)).dtype) && !whole)
    return base::unsupported("Gemm of integers with alpha or beta that is none");
  const Value left = transposed_if(b, node.integer("transA", 0) != 0, node.input(0));
  const Value right =
      scaled(b, transposed_if(b, node.integer("transB", 0) != 0, node.input(1)), alpha);
  if (!node.has_input(2) || beta == 0) return only_output(b.add("matmul", {left, right}));
  return only_output(b.add("fused_matmul", {left, right, scaled(b, node.input(2), beta)}));
}

// ONNX Runtime's FusedGemm: Gemm and an activation, whose attributes are those of the node with a
// prefix.
base::Result<std::vector<Value>> import_fused(OnnxNode& node) {
  EGRET_ASSIGN_OR_RETURN(const std::vector<Value> product, import(node));
  EGRET_ASSIGN_OR_RETURN(
      const Value y,
      fused_activation(node, product.front(), [&](std::size_t, std::string_view attribute) {
        const std::string name = "activation_" + std::string(attribute);
        return node.has_attr(name) ? std::optional(node.real(name, 0)) : std::nullopt;
      }));
  return only_output(y);
}

base::Status write(OnnxWriter& writer) {
  const bool matrices = writer.input_type(0).rank() == 2 && writer.input_type(1).rank() == 2;
  const bool typed = is_float(writer.output_type().dtype) || writer.opset() >= 9;
  if (writer.attrs().text("activation") != "none" || writer.input_count() > 3 || !matrices ||
      !typed) {
    return base::unsupported("Gemm has neither activation nor residual nor batch");
  }
  writer.emit("Gemm", {writer.input(0), writer.input(1), writer.input(2)});
  return base::ok();
}

}  // namespace

Operator fused_matmul() {
  return composite("fused_matmul", "activation(matmul(a, b) + bias + residual), in one kernel",
                   {"a", "b", "bias", "residual"})
      .optional_inputs(1)
      .attr("activation", std::string("none"), "see ir/ops/activation.h")
      .one_of(activation_names())
      .shown_on({"f32[M,K]", "f32[K,N]", "f32[N]"}, {{"activation", std::string("relu")}})
      .with_body(build)
      .onnx_import("Gemm", import)
      .onnx_import("FusedGemm", import_fused, "com.microsoft")
      .onnx_export(write, 7);
}

}  // namespace egret::ir::ops
