// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ir/graph/builder.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {

namespace {

base::Result<std::vector<Value>> import(OnnxNode& node) {
  const Value x = node.input(0);
  const double bias = node.real("bias", 0);
  const double lambd = node.real("lambd", 0.5);
  if (!is_float(node.type(x).dtype) && (bias != std::trunc(bias) || lambd != std::trunc(lambd)))
    return base::unsupported("Shrink of integers by reals");
  return only_output(node.builder().add("shrink", {x}, {{"bias", bias}, {"lambd", lambd}}));
}

}  // namespace

Operator shrink() {
  return primitive("shrink", "x + bias below -lambd, x - bias above lambd, 0 between", {"x"})
      .attr("bias", 0.0, "how far towards 0")
      .attr("lambd", 0.5, "half the width of what becomes 0")
      .defined_by([](Definition& d) {
        const Scalar bias = d.real("bias");
        const Scalar bound = d.real("lambd");
        const auto is_whole = [&](const char* name) {
          return d.real(name) == std::trunc(d.real(name));
        };
        if (!d.require_dtype(0, is_float(d.dtype(0)) || (is_whole("bias") && is_whole("lambd")),
                             "a tensor of reals, or whole bias and lambd"))
          return;
        d.pointwise([&](Scalar x) {
          return select(less(x, -bound), x + bias, select(less(bound, x), x - bias, 0));
        });
      })
      .onnx_import("Shrink", import)
      .onnx_export(
          [](OnnxWriter& writer) {
            writer.emit(
                "Shrink", {writer.input(0)},
                {{"bias", writer.attrs().real("bias")}, {"lambd", writer.attrs().real("lambd")}});
            return base::ok();
          },
          9);
}

}  // namespace egret::ir::ops
