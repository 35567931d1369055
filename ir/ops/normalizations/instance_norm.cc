// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/normalization_definition.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  if (b.rank(0) < 3) return b.fail("the input needs a spatial axis");
  const Moments m = moments(b.builder(), b.input(0), axes_from(2, b.rank(0)), b.real("epsilon"));
  return scaled_per_channel(b.builder(), b("div", {m.centered, m.deviation}), b.input(1),
                            b.input(2));
}

}  // namespace

Operator instance_norm() {
  return composite("instance_norm",
                   "(x - mean) / sqrt(variance + epsilon) * scale + bias, with the moments over "
                   "the spatial axes, scale and bias per channel",
                   {"x", "scale", "bias"})
      .attr("epsilon", double{1e-5F}, "keeps the root away from 0")
      .shown_on({"f32[N,C,H,W]", "f32[C]", "f32[C]"})
      .with_body(build)
      .onnx("InstanceNormalization");
}

}  // namespace egret::ir::ops
