// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/softmax_definition.h"

#include "ir/graph/body.h"
#include "ir/ops/families/reduction_definition.h"

namespace egret::ir {

// Softmax does not change if a constant is subtracted. With the maximum subtracted, no exponential
// overflows and the sum is at least 1.
ShiftedExponentials shifted_exponentials(GraphBuilder& b, Value x, const Integers& axes) {
  const Attrs over = reduction_attrs(axes, true);
  const Value shifted = b.add("sub", {x, b.add("reduce_max", {x}, over)});
  const Value exponentials = b.add("exp", {shifted});
  return {shifted, exponentials, b.add("reduce_sum", {exponentials}, over)};
}

bool rest_is_trivial(const TensorType& type, std::int64_t axis) {
  for (auto i = static_cast<std::size_t>(axis) + 1; i < type.dims.size(); ++i) {
    if (!type.dims[i].is_constant() || type.dims[i].constant() != 1) return false;
  }
  return true;
}

Operator softmax_operator(std::string name, std::string doc, std::string onnx_name,
                          BuildOver over) {
  const auto import = [name, over](OnnxNode& node) -> base::Result<std::vector<Value>> {
    const Value x = node.input(0);
    const int rank = node.type(x).rank();
    // Before opset 13 an operator normalized over the axis and all axes after it.
    const bool one_axis = node.opset() >= 13;
    const std::int64_t axis = node.axis(node.integer("axis", one_axis ? -1 : 1), rank);
    if (one_axis || rest_is_trivial(node.type(x), axis)) {
      return only_output(node.builder().add(name, {x}, {{"axis", axis}}));
    }
    return only_output(over(node.builder(), x, axes_from(axis, rank)));
  };
  const auto write = [onnx_name](OnnxWriter& writer) {
    const std::int64_t axis = writer.attrs().integer("axis");
    if (writer.opset() < 13 && !rest_is_trivial(writer.input_type(0), axis)) {
      return base::unsupported(onnx_name + " along an inner axis needs opset 13");
    }
    writer.emit(onnx_name, {writer.input(0)}, {{"axis", axis}});
    return base::ok();
  };
  return composite(std::move(name), std::move(doc), {"x"})
      .attr("axis", AttrKind::kInteger, "the normalized axis")
      .shown_on({"f32[M,N]"}, {{"axis", std::int64_t{1}}})
      .with_body([over](Body& b) { return over(b.builder(), b.input(0), {b.axis("axis")}); })
      .onnx_import(onnx_name, import)
      .onnx_export(write);
}

}  // namespace egret::ir
