// SPDX-License-Identifier: Apache-2.0
#include "ir/activation.h"
#include "ir/normalization_definition.h"
#include "ir/operator.h"
#include "ir/window.h"

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

// ONNX Conv becomes conv, with a bias fused_conv.
base::Result<std::vector<Value>> import(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  const Value w = node.input(1);
  Integers kernel;
  for (std::size_t i = 2; i < node.type(w).dims.size(); ++i) {
    const Index size = node.type(w).dims[i];
    if (!size.is_constant()) return base::unsupported("a kernel of unknown size");
    kernel.push_back(size.constant());
  }
  if (kernel.empty() || node.type(w).rank() != node.type(x).rank()) {
    return base::bad_input("input " + to_string(node.type(x)) + " and kernel " +
                           to_string(node.type(w)) + " do not go together");
  }
  EGRET_ASSIGN_OR_RETURN(const OnnxWindows windows, read_windows(node, kernel));
  Attrs attrs = windows.attrs();
  attrs.set("group", node.integer("group", 1));
  if (!node.has_input(2)) return only_output(b.add("conv", {x, w}, std::move(attrs)));
  return only_output(b.add("fused_conv", {x, w, node.input(2)}, std::move(attrs)));
}

base::Status write(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  if (attrs.text("activation") != "none" || writer.input_count() > 3) {
    return base::unsupported("Conv has neither activation nor residual");
  }
  writer.emit("Conv", {writer.input(0), writer.input(1), writer.input(2)},
              {{"dilations", attrs.integers("dilations")},
               {"group", attrs.integer("group")},
               {"pads", attrs.integers("pads")},
               {"strides", attrs.integers("strides")}});
  return base::ok();
}

}  // namespace

Operator fused_conv() {
  return with_window_attrs(
             composite("fused_conv",
                       "activation(conv(x, w) + bias per channel + residual), in one kernel",
                       {"x", "w", "bias", "residual"}))
      .optional_inputs(1)
      .attr("group", std::int64_t{1}, "channel groups that do not mix")
      .attr("activation", std::string("none"), "see ir/activation.h")
      .with_body(build)
      .onnx_import("Conv", import)
      .onnx_export(write);
}

}  // namespace egret::ir::ops
