// SPDX-License-Identifier: Apache-2.0
#include "ir/graph/onnx_arguments.h"
#include "ir/graph/operator.h"

namespace egret::ir::ops {
namespace {

void define(Definition& d) {
  const std::optional<DType> dtype = parse_dtype(d.text("dtype"));
  if (!dtype) {
    d.fail("there is no element type '" + d.text("dtype") + "'");
    return;
  }
  const auto out = d.output(*dtype, {d.size("rows"), d.size("columns")});
  d.value(scalar_of(out[1] == out[0] + d.size("k")));
}

OnnxOutputs import(OnnxNode& node) {
  const Value like = node.input(0);
  if (node.type(like).rank() != 2) {
    return base::bad_input("takes a matrix, not " + to_string(node.type(like)));
  }
  EGRET_ASSIGN_OR_RETURN(const Integers sizes, open_integers(node.type(like).dims));
  DType dtype = node.type(like).dtype;
  if (node.has_attr("dtype")) {
    const auto named = dtype_from_onnx(node.integer("dtype", 0));
    if (!named) return base::unsupported("the element type of EyeLike");
    dtype = *named;
  }
  return only_output(node.builder().add("eye", std::span<const Value>{},
                                        {{"rows", sizes[0]},
                                         {"columns", sizes[1]},
                                         {"k", node.integer("k", 0)},
                                         {"dtype", std::string(to_string(dtype))}}));
}

base::Status write(OnnxWriter& writer) {
  const Attrs& attrs = writer.attrs();
  EGRET_ASSIGN_OR_RETURN(const Integers sizes, open_integers(std::vector<Index>{
                                                   attrs.size("rows"), attrs.size("columns")}));
  const std::string like = writer.emit("ConstantOfShape", {writer.constant_integers(sizes)});
  writer.emit("EyeLike", {like},
              {{"dtype", onnx_code(writer.output_type().dtype)}, {"k", attrs.integer("k")}});
  return base::ok();
}

}  // namespace

Operator eye() {
  return primitive("eye", "A matrix of ones on one diagonal and zeros elsewhere", {})
      .attr("rows", AttrKind::kInteger, "number of rows")
      .attr("columns", AttrKind::kInteger, "number of columns")
      .attr("k", std::int64_t{0}, "the diagonal: 0 the main one, positive above it")
      .attr("dtype", AttrKind::kText, "element type, such as f32 or i64")
      .shown_on(
          {},
          {{"rows", std::int64_t{3}}, {"columns", std::int64_t{4}}, {"dtype", std::string("f32")}})
      .defined_by(define)
      .onnx_import("EyeLike", import)
      .onnx_export(write, 9);
}

}  // namespace egret::ir::ops
