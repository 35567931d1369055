// SPDX-License-Identifier: Apache-2.0
#include "ir/core/size_reference.h"
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/normalization_definition.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

// x[N, C, ...] seen as [N, G, C/G, ...], so that a group is a box of axes.
Value build(Body& b) {
  const Value x = b.input(0);
  const TensorType type = b.type(x);
  const std::int64_t groups = b.integer("groups");
  if (type.rank() < 3) return b.fail("the input needs a spatial axis");
  if (!type.dims[1].is_constant()) return b.fail("the number of channels must be known");
  const std::int64_t channels = type.dims[1].constant();
  if (groups < 1 || channels % groups != 0) {
    return b.fail(std::to_string(channels) + " channels do not make " + std::to_string(groups) +
                  " groups");
  }
  Integers apart{target_of_axis(type, 0), groups, channels / groups};
  for (int axis = 2; axis < type.rank(); ++axis) apart.push_back(target_of_axis(type, axis));
  const Value grouped = b("reshape", {x}, {{"shape", apart}});
  const Moments m = moments(b.builder(), grouped, axes_from(2, type.rank() + 1), b.real("epsilon"));
  Integers together{target_of_axis(type, 0), channels};
  for (int axis = 2; axis < type.rank(); ++axis) {
    together.push_back(target_of_axis(b.type(grouped), axis + 1));
  }
  const Value normalized =
      b("reshape", {b("div", {m.centered, m.deviation})}, {{"shape", together}});
  return scaled_per_channel(b.builder(), normalized, b.input(1), b.input(2));
}

// Scale and bias are given per group in opset 18, per channel from 21 on.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  const std::int64_t groups = node.integer("num_groups", 0);
  const TensorType& type = node.type(x);
  if (type.rank() < 2 || !type.dims[1].is_constant()) {
    return base::unsupported("GroupNormalization of an unknown number of channels");
  }
  const std::int64_t channels = type.dims[1].constant();
  if (groups < 1 || channels % groups != 0) {
    return base::bad_input("num_groups must divide the number of channels");
  }
  const auto for_channels = [&](Value vector) {
    if (node.opset() >= 21) return vector;
    const Value column = b.add("reshape", {vector}, {{"shape", Integers{groups, 1}}});
    const Value rows =
        b.add("broadcast", {column}, {{"shape", Integers{groups, channels / groups}}});
    return b.add("reshape", {rows}, {{"shape", Integers{channels}}});
  };
  return only_output(b.add("group_norm",
                           {x, for_channels(node.input(1)), for_channels(node.input(2))},
                           {{"groups", groups}, {"epsilon", node.real("epsilon", double{1e-5F})}}));
}

base::Status write(OnnxWriter& writer) {
  writer.emit("GroupNormalization", {writer.input(0), writer.input(1), writer.input(2)},
              {{"num_groups", writer.attrs().integer("groups")},
               {"epsilon", writer.attrs().real("epsilon")}});
  return base::ok();
}

}  // namespace

Operator group_norm() {
  return composite("group_norm",
                   "(x - mean) / sqrt(variance + epsilon) * scale + bias, with the moments over "
                   "each group of channels, scale and bias per channel",
                   {"x", "scale", "bias"})
      .attr("groups", AttrKind::kInteger, "how many groups the channels make")
      .attr("epsilon", double{1e-5F}, "keeps the root away from 0")
      .shown_on({"f32[N,8,H,W]", "f32[8]", "f32[8]"}, {{"groups", std::int64_t{4}}})
      .with_body(build)
      .onnx_import("GroupNormalization", import)
      .onnx_export(write, 21);
}

}  // namespace egret::ir::ops
