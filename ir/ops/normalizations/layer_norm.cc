// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "ir/core/symbolic_scope.h"
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/normalization_definition.h"
#include "ir/ops/families/quantization.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Integers axes = axes_from(b.axis("axis"), b.rank(0));
  const Moments m = moments(b.builder(), b.input(0), axes, b.real("epsilon"));
  const Value scaled = b("mul", {b("div", {m.centered, m.deviation}), b.input(1)});
  return b.input_count() > 2 ? b("add", {scaled, b.input(2)}) : scaled;
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const std::vector<Value> inputs = node.inputs();
  const Value x = node.input(0);
  const int rank = node.type(x).rank();
  const std::int64_t axis = node.axis(node.integer("axis", -1), rank);
  const double epsilon = node.real("epsilon", double{1e-5F});
  std::vector<Value> outputs{b.add("layer_norm", inputs, {{"axis", axis}, {"epsilon", epsilon}})};
  if (node.has_output(1) || node.has_output(2)) {
    const Moments m = moments(b, x, axes_from(axis, rank), epsilon);
    outputs.push_back(m.mean);
    outputs.push_back(b.add("reciprocal", {m.deviation}));
  }
  return outputs;
}

constexpr double kSkipEpsilon = double{1e-12F};  // of ONNX Runtime's operators

// ONNX Runtime's SkipLayerNormalization. Outputs: the result; mean and deviation; the sum.
base::Result<std::vector<Value>> import_skipping(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  EGRET_ASSIGN_OR_RETURN(const Value sum, skip_sum(node, 4));
  std::vector<Value> inputs{sum, node.input(2)};
  if (node.has_input(3)) inputs.push_back(node.input(3));
  const std::int64_t axis = b.type(sum).rank() - 1;
  const double epsilon = node.real("epsilon", kSkipEpsilon);
  return std::vector<Value>{
      b.add("layer_norm", inputs, {{"axis", axis}, {"epsilon", epsilon}}), {}, {}, sum};
}

// The first rows of a table, as many as ids has columns.
base::Result<Value> first_rows(OnnxNode& node, Value table, Value ids) {
  GraphBuilder& b = node.builder();
  const Index columns = b.type(ids).dims[1];
  const auto count =
      columns.is_constant() ? std::optional(columns.constant()) : open_integer(columns);
  if (!count) return base::unsupported("positions of a sequence of unknown length");
  return b.add("slice", {table},
               {{"axis", std::int64_t{0}}, {"start", std::int64_t{0}}, {"size", *count}});
}

// ONNX Runtime's EmbedLayerNormalization: rows of two or three tables are added and normalized.
// Inputs: ids [batch, sequence], segments; tables of words, positions and segments; scale and bias;
// a mask; positions. Outputs: the result; by sequence how many elements of the mask are 1, none
// without a mask; the sum.
base::Result<std::vector<Value>> import_embedding(OnnxNode& node) {
  for (const int i : {0, 2, 3, 5, 6}) {
    if (!node.has_input(i)) return base::bad_input("input " + std::to_string(i) + " is missing");
  }
  GraphBuilder& b = node.builder();
  const Value ids = node.input(0);
  if (b.type(ids).rank() != 2) return base::bad_input("the ids are " + to_string(b.type(ids)));
  if (node.has_input(1) != node.has_input(4))
    return base::bad_input("segments need a table, and a table of segments needs them");
  const auto rows = [&](int table, Value of) {
    return b.add("gather", {node.input(table), of}, {{"axis", std::int64_t{0}}});
  };
  Value positions;
  if (node.has_input(8)) {
    positions = rows(3, node.input(8));
  } else {
    EGRET_ASSIGN_OR_RETURN(positions, first_rows(node, node.input(3), ids));
  }
  Value sum = b.add("add", {rows(2, ids), positions});
  if (node.has_input(1)) sum = b.add("add", {sum, rows(4, node.input(1))});
  const double epsilon = node.real("epsilon", kSkipEpsilon);
  const Value result = b.add("layer_norm", {sum, node.input(5), node.input(6)},
                             {{"axis", std::int64_t{2}}, {"epsilon", epsilon}});
  node.integer("mask_index_type", 0);  // has no effect on a CPU
  const Value counted =
      node.has_input(7)
          ? converted(b, b.add("equal", {node.input(7), b.scalar(b.type(node.input(7)).dtype, 1)}),
                      DType::kI32)
          : b.add("sub", {converted(b, ids, DType::kI32), converted(b, ids, DType::kI32)});
  const Value lengths = b.add("reduce_sum", {counted}, reduction_attrs({1}, false));
  return std::vector<Value>{result, lengths, sum};
}

}  // namespace

Operator layer_norm() {
  return composite("layer_norm",
                   "(x - mean) / sqrt(variance + epsilon) * scale + bias, with the moments over "
                   "all axes from `axis` on",
                   {"x", "scale", "bias"})
      .optional_inputs(1)
      .attr("axis", AttrKind::kInteger, "the first normalized axis")
      .attr("epsilon", double{1e-5F}, "keeps the root away from 0")
      .shown_on({"f32[B,S,768]", "f32[768]", "f32[768]"}, {{"axis", std::int64_t{2}}})
      .with_body(build)
      .onnx_import("LayerNormalization", import)
      .onnx_import("SkipLayerNormalization", import_skipping, "com.microsoft")
      .onnx_import("EmbedLayerNormalization", import_embedding, "com.microsoft")
      .onnx_export(same_name_export("LayerNormalization"), 17);
}

}  // namespace egret::ir::ops
