// SPDX-License-Identifier: Apache-2.0
// Families of elementwise operators that differ only in one expression.
#pragma once

#include <functional>
#include <string>

#include "ir/graph/operator.h"

namespace egret::ir {

// out = element(x), of floating-point tensors alone; ONNX `onnx_name`, which came with opset
// `since`.
Operator float_operator(std::string name, std::string doc, std::string onnx_name, int since,
                        std::function<Scalar(Scalar)> element);
// float_operator() for one opaque function.
Operator function_operator(Function function, std::string name, std::string doc,
                           std::string onnx_name, int since = 1);

// out = condition(a, b) as bool, broadcasting.
Operator predicate_operator(std::string name, std::string doc, std::string onnx_name, int since,
                            std::function<Guard(Scalar, Scalar)> condition);

// predicate_operator() for two bool tensors.
Operator logic_operator(std::string name, std::string doc, std::string onnx_name,
                        std::function<Guard(Scalar, Scalar)> condition);

// out = function(inputs...) of integer tensors, broadcasting.
Operator bitwise_operator(Function function, std::string name, std::string doc,
                          std::string onnx_name, int since);

// Requires input 0 to be floating-point.
bool require_float(Definition& d);
// |x|, on integers too; NaN stays NaN.
Scalar magnitude(Scalar x);
bool has_sign(DType type);  // a number that may be negative
// 1 / (1 + exp(-x))
Scalar logistic(Scalar x);

}  // namespace egret::ir
