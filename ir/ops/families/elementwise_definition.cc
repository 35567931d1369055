// SPDX-License-Identifier: Apache-2.0
#include "ir/ops/families/elementwise_definition.h"

namespace egret::ir {

bool require_float(Definition& d) {
  return d.require_dtype(0, is_float(d.dtype(0)), "a floating-point tensor");
}

Scalar magnitude(Scalar x) { return max(x, -x); }

bool has_sign(DType type) { return is_float(type) || is_signed_integer(type); }

Scalar logistic(Scalar x) { return Scalar(1) / (call(Function::kExp, {-x}) + 1); }

Operator float_operator(std::string name, std::string doc, std::string onnx_name, int since,
                        std::function<Scalar(Scalar)> element) {
  return primitive(std::move(name), std::move(doc), {"x"})
      .defined_by([element = std::move(element)](Definition& d) {
        if (require_float(d)) d.pointwise(element);
      })
      .onnx(std::move(onnx_name), since);
}

Operator function_operator(Function function, std::string name, std::string doc,
                           std::string onnx_name, int since) {
  return float_operator(std::move(name), std::move(doc), std::move(onnx_name), since,
                        [function](Scalar x) { return call(function, {x}); });
}

namespace {
void define_condition(Definition& d, const std::function<Guard(Scalar, Scalar)>& condition) {
  if (!d.require_same_dtype()) return;
  d.pointwise_as(DType::kBool,
                 [&](std::span<const Scalar> x) { return scalar_of(condition(x[0], x[1])); });
}
}  // namespace

Operator predicate_operator(std::string name, std::string doc, std::string onnx_name, int since,
                            std::function<Guard(Scalar, Scalar)> condition) {
  return primitive(std::move(name), std::move(doc), {"a", "b"})
      .defined_by(
          [condition = std::move(condition)](Definition& d) { define_condition(d, condition); })
      .onnx(std::move(onnx_name), since);
}

Operator logic_operator(std::string name, std::string doc, std::string onnx_name,
                        std::function<Guard(Scalar, Scalar)> condition) {
  return primitive(std::move(name), std::move(doc), {"a", "b"})
      .defined_by([condition = std::move(condition)](Definition& d) {
        if (d.require_dtype(0, d.dtype(0) == DType::kBool, "bool")) define_condition(d, condition);
      })
      .onnx(std::move(onnx_name), 7);
}

Operator bitwise_operator(Function function, std::string name, std::string doc,
                          std::string onnx_name, int since) {
  const int arity = facts(function).arity;
  return primitive(std::move(name), std::move(doc),
                   arity == 1 ? std::vector<std::string>{"x"} : std::vector<std::string>{"a", "b"})
      .defined_by([function, arity](Definition& d) {
        if (!d.require_dtype(0, is_integer(d.dtype(0)), "an integer tensor")) return;
        d.pointwise([&](std::span<const Scalar> x) {
          return arity == 1 ? call(function, {x[0]}) : call(function, {x[0], x[1]});
        });
      })
      .onnx(std::move(onnx_name), since);
}

}  // namespace egret::ir
