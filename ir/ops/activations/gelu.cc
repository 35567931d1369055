// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "ir/graph/body.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

// The operations and their order are those that PyTorch writes when it exports GELU to ONNX.
Value build(Body& b) {
  const Value x = b.input(0);
  const auto number = [&](double value) { return b.scalar(b.dtype(0), value); };
  Value odd;  // 2 Phi(x) - 1
  if (b.text("approximate") == "none") {
    odd = b("erf", {b("div", {x, number(std::numbers::sqrt2)})});
  } else if (b.text("approximate") == "tanh") {
    const Value cubic = b("mul", {number(0.044715), b("mul", {x, b("mul", {x, x})})});
    const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    odd = b("tanh", {b("mul", {number(scale), b("add", {x, cubic})})});
  } else {
    return b.fail("approximate must be none or tanh, not '" + b.text("approximate") + "'");
  }
  return b("mul", {b("mul", {x, b("add", {odd, number(1)})}), number(0.5)});
}

// ONNX Runtime's Gelu, BiasGelu and FastGelu: of x, or of the sum with a vector.
OnnxImport import_of(std::string approximate) {
  return [approximate = std::move(approximate)](OnnxNode& node) {
    GraphBuilder& b = node.builder();
    Value x = node.input(0);
    if (node.has_input(1)) {
      const TensorType type = b.type(x);
      x = b.add("add", {x, node.input(1)});
      if (b.ok() && !(b.type(x) == type)) {
        return base::Result<std::vector<Value>>(
            base::bad_input("the bias " + to_string(node.type(node.input(1))) +
                            " does not broadcast to " + to_string(type)));
      }
    }
    return only_output(b.add("gelu", {x}, {{"approximate", approximate}}));
  };
}

}  // namespace

Operator gelu() {
  return composite("gelu", "x * Phi(x), Phi being the normal distribution function", {"x"})
      .attr("approximate", std::string("none"),
            "none: by erf; tanh: by the usual formula with tanh")
      .one_of({"none", "tanh"})
      .with_body(build)
      .onnx("Gelu", 20)
      .onnx_import("Gelu", import_of("none"), "com.microsoft")
      .onnx_import("BiasGelu", import_of("none"), "com.microsoft")
      .onnx_import("FastGelu", import_of("tanh"), "com.microsoft");
}

}  // namespace egret::ir::ops
