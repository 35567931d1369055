// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/operator.h"
#include "ir/ops/activation.h"
#include "ir/ops/families/normalization_definition.h"
#include "ir/ops/families/quantization.h"
#include "ir/ops/families/window.h"

namespace egret::ir::ops {
namespace {

Value build(Body& b) {
  const Value outer = fused_epilogue(b, "fused_conv", 3);
  if (outer.valid() || !b.builder().ok()) return outer;
  Attrs attrs = b.attrs();
  attrs.erase("activation");
  const Value conv = b("conv", {b.input(0), b.input(1)}, attrs);
  return b("add", {conv, per_channel(b.builder(), b.input(2), b.rank(0))});
}

// The attributes of a convolution of input 0 with a kernel.
base::Result<Attrs> read_attrs(const OnnxNode& node, const TensorType& w) {
  const TensorType& x = node.type(node.input(0));
  Integers kernel;
  for (std::size_t i = 2; i < w.dims.size(); ++i) {
    if (!w.dims[i].is_constant()) return base::unsupported("a kernel of unknown size");
    kernel.push_back(w.dims[i].constant());
  }
  if (kernel.empty() || w.rank() != x.rank()) {
    return base::bad_input("input " + to_string(x) + " and kernel " + to_string(w) +
                           " do not match");
  }
  EGRET_ASSIGN_OR_RETURN(const OnnxWindows windows, read_windows(node, kernel));
  EGRET_ASSIGN_OR_RETURN(Attrs attrs, windows.attrs());
  attrs.set("group", node.integer("group", 1));
  return attrs;
}

// ONNX Conv becomes conv, with a bias fused_conv.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  const Value w = node.input(1);
  EGRET_ASSIGN_OR_RETURN(Attrs attrs, read_attrs(node, node.type(w)));
  if (!node.has_input(2)) return only_output(b.add("conv", {x, w}, std::move(attrs)));
  return only_output(b.add("fused_conv", {x, w, node.input(2)}, std::move(attrs)));
}

// ONNX Runtime's FusedConv: a convolution, a bias, another summand, and an activation with its
// numbers in a list.
base::Result<std::vector<Value>> import_fused(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  EGRET_ASSIGN_OR_RETURN(const std::vector<Value> conv, import(node));
  Value y = conv.front();
  if (node.has_input(3)) {
    const TensorType type = b.type(y);
    y = b.add("add", {y, node.input(3)});
    if (b.ok() && !(b.type(y) == type)) {
      return base::bad_input("the summand " + to_string(node.type(node.input(3))) +
                             " does not broadcast to " + to_string(type));
    }
  }
  const std::vector<double> numbers = node.reals("activation_params", {});
  EGRET_ASSIGN_OR_RETURN(y, fused_activation(node, y, [&](std::size_t i, std::string_view) {
                           return i < numbers.size() ? std::optional(numbers[i]) : std::nullopt;
                         }));
  return only_output(y);
}

// The zero point of the kernel may be per filter. Padding with the zero point of x is padding with
// 0 once it is subtracted.
base::Result<Value> integer_conv(OnnxNode& node, int x_zero, int w, int w_zero) {
  GraphBuilder& b = node.builder();
  const auto zero = [&](int i) { return node.has_input(i) ? node.input(i) : Value{}; };
  EGRET_ASSIGN_OR_RETURN(Attrs attrs, read_attrs(node, node.type(node.input(w))));
  return b.add("conv",
               {centered_integers(b, node.input(0), zero(x_zero), 1),
                centered_integers(b, node.input(w), zero(w_zero), 0)},
               std::move(attrs));
}

base::Result<std::vector<Value>> import_integer(OnnxNode& node) {
  EGRET_ASSIGN_OR_RETURN(const Value y, integer_conv(node, 2, 1, 3));
  return only_output(y);
}

// Inputs: x, its scale and zero point, the same of w, those of the result, and a bias in i32.
base::Result<std::vector<Value>> import_quantized(OnnxNode& node) {
  for (int i = 0; i < 8; ++i) {
    if (!node.has_input(i)) return base::bad_input("input " + std::to_string(i) + " is missing");
  }
  GraphBuilder& b = node.builder();
  EGRET_ASSIGN_OR_RETURN(Value y, integer_conv(node, 2, 3, 5));
  const int rank = b.type(y).rank();
  if (node.has_input(8)) y = b.add("add", {y, per_channel(b, node.input(8), rank)});
  const Value scale = b.add("mul", {node.input(1), along_axis(b, node.input(4), 1, rank)});
  const Value factor = b.add("div", {scale, node.input(6)});
  const Value real = b.add("mul", {converted(b, y, b.type(factor).dtype), factor});
  return only_output(rounded_to(b, real, node.input(7), b.type(node.input(7)).dtype));
}

base::Status write(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  if (attrs.text("activation") != "none" || writer.input_count() > 3) {
    return base::unsupported("Conv has neither activation nor residual");
  }
  return write_conv(writer);
}

}  // namespace

Operator fused_conv() {
  return with_window_attrs(
             composite("fused_conv",
                       "activation(conv(x, w) + bias per channel + residual), in one kernel",
                       {"x", "w", "bias", "residual"}))
      .optional_inputs(1)
      .attr("group", std::int64_t{1}, "channel groups that do not mix")
      .attr("activation", std::string("none"), "see ir/ops/activation.h")
      .one_of(activation_names())
      .shown_on({"f32[N,C,H,W]", "f32[K,C,3,3]", "f32[K]"}, {{"strides", Integers{1, 1}},
                                                             {"pads", Integers{1, 1, 1, 1}},
                                                             {"dilations", Integers{1, 1}},
                                                             {"activation", std::string("relu")}})
      .with_body(build)
      .onnx_import("Conv", import)
      .onnx_import("FusedConv", import_fused, "com.microsoft")
      .onnx_import("ConvInteger", import_integer)
      .onnx_import("QLinearConv", import_quantized)
      .onnx_export(write);
}

}  // namespace egret::ir::ops
