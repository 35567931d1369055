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
  const std::vector<Index> sizes = d.sizes("shape");
  d.output(*dtype, Dims(sizes.begin(), sizes.end()));
  d.value(d.real_as(*dtype, "value"));
}

OnnxOutputs import(OnnxNode& node) {
  EGRET_ASSIGN_OR_RETURN(const Integers shape, required_size_integers(node, 0, "shape"));
  const std::optional<Tensor> value = node.tensor("value");
  if (value && value->elements() != 1) return base::bad_input("'value' must be one element");
  const DType dtype = value ? value->dtype() : DType::kF32;
  if (!is_float(dtype) && value) {
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    if (value->i64_at(0) > kExact || value->i64_at(0) < -kExact) {
      return base::unsupported("a fill with an integer beyond 2^53");
    }
  }
  return only_output(node.builder().add("fill", std::span<const Value>{},
                                        {{"shape", shape},
                                         {"value", value ? value->f64_at(0) : 0.0},
                                         {"dtype", std::string(to_string(dtype))}}));
}

base::Status write(OnnxWriter& writer) {
  const Tensor element =
      Tensor::filled(TensorType(writer.output_type().dtype, {1}), writer.attrs().real("value"));
  writer.emit("ConstantOfShape", {writer.constant_integers(writer.attrs().as_written("shape"))},
              {{"value", element}});
  return base::ok();
}

}  // namespace

Operator fill() {
  return primitive("fill", "A tensor whose elements are all one number", {})
      .attr("shape", AttrKind::kIntegers, "its sizes")
      .attr("value", AttrKind::kReal, "the number")
      .attr("dtype", AttrKind::kText, "its element type, such as f32 or i64")
      .shown_on({}, {{"shape", Integers{3, 4}}, {"value", 0.5}, {"dtype", std::string("f32")}})
      .defined_by(define)
      .onnx_import("ConstantOfShape", import)
      .onnx_export(write, 9);
}

}  // namespace egret::ir::ops
