// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ir/graph/body.h"
#include "ir/graph/operator.h"
#include "ir/ops/families/reduction_definition.h"
#include "ir/ops/families/window.h"

namespace egret::ir::ops {
namespace {

// |x| to the p, and the p-th root; p is positive.
Value power(GraphBuilder& b, Value x, std::int64_t p) {
  if (p == 2) return b.add("mul", {x, x});
  const Value positive = b.add("abs", {x});
  if (p == 1) return positive;
  return b.add("pow", {positive, b.scalar(b.type(x).dtype, static_cast<double>(p))});
}
Value root(GraphBuilder& b, Value x, std::int64_t p) {
  if (p == 1) return x;
  if (p == 2) return b.add("sqrt", {x});
  return b.add("pow", {x, b.scalar(b.type(x).dtype, 1.0 / static_cast<double>(p))});
}

Value build(Body& b) {
  const std::int64_t p = b.integer("p");
  if (p < 1) return b.fail("p must be positive");
  Attrs mean = b.attrs();
  mean.erase("p");
  mean.set("count_include_pad", std::int64_t{1});
  double taps = 1;
  for (const std::int64_t size : b.integers("kernel")) taps *= static_cast<double>(size);
  const Value averaged = b("avg_pool", {power(b.builder(), b.input(0), p)}, mean);
  return root(b.builder(), b("mul", {averaged, b.scalar(b.dtype(0), taps)}), p);
}

base::Result<std::vector<Value>> import(OnnxNode& node) {
  EGRET_ASSIGN_OR_RETURN(const OnnxWindows windows, read_windows(node));
  EGRET_ASSIGN_OR_RETURN(Attrs attrs, windows.attrs());
  attrs.set("kernel", windows.kernel);
  attrs.set("p", node.integer("p", 2));
  return only_output(node.builder().add("lp_pool", {node.input(0)}, std::move(attrs)));
}

base::Result<std::vector<Value>> import_global(OnnxNode& node) {
  GraphBuilder& b = node.builder();
  const Value x = node.input(0);
  const std::int64_t p = node.integer("p", 2);
  if (p < 1) return base::bad_input("p must be positive");
  const Attrs over = reduction_attrs(axes_from(2, node.type(x).rank()), true);
  return only_output(root(b, b.add("reduce_sum", {power(b, x, p)}, over), p));
}

base::Status write(OnnxWriter& writer) {
  if (is_dilated(writer.attrs()) && writer.opset() < 18) {
    return base::unsupported("LpPool with dilations needs opset 18");
  }
  std::vector<OnnxWriter::Attribute> attributes = window_attributes(writer);
  const auto name = &OnnxWriter::Attribute::name;
  if (std::ranges::find(attributes, "ceil_mode", name) != attributes.end())
    return base::unsupported("LpPool has no ceil_mode before opset 18");
  attributes.push_back({"p", writer.attrs().integer("p")});
  writer.emit("LpPool", {writer.input(0)}, std::move(attributes));
  return base::ok();
}

}  // namespace

Operator lp_pool() {
  return with_window_attrs(
             composite("lp_pool", "p-norm over windows of 1 to 3 spatial axes", {"x"}))
      .attr("kernel", AttrKind::kIntegers, "size of the window, one number a spatial axis")
      .attr("p", std::int64_t{2}, "which norm, at least 1")
      .shown_on({"f32[N,C,H,W]"}, {{"kernel", Integers{3, 3}},
                                   {"strides", Integers{2, 2}},
                                   {"pads", Integers{1, 1, 1, 1}},
                                   {"dilations", Integers{1, 1}}})
      .with_body(build)
      .onnx_import("LpPool", import)
      .onnx_import("GlobalLpPool", import_global)
      .onnx_export(write);
}

}  // namespace egret::ir::ops
