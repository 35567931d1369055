// SPDX-License-Identifier: Apache-2.0
// ONNX nodes without ONNX files: runs the import and the export that operators declare, for tests
// of the forms that a node takes in different opsets.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/graph/builder.h"
#include "ir/graph/onnx_binding.h"
#include "ir/graph/operator.h"

namespace egret::ir {

// An input of a stub node: a type for a value that is not known at import, a constant, or absent.
using StubInput = std::variant<std::monostate, TensorType, Tensor>;
using StubAttr = std::variant<std::int64_t, double, std::string, Integers, std::vector<double>>;

struct StubNode {
  std::string op_type;  // "com.microsoft.Gelu" of another domain
  int opset = 17;
  std::vector<StubInput> inputs{};
  std::map<std::string, StubAttr, std::less<>> attrs{};
  int outputs = 1;
};

// What import makes of the node: one line an operator, "%2 = clip(%0) {max=6.0, min=0.0}: f32[4]",
// inputs and constants left out; or the message of the error. Inputs are %0, %1, ...; absent ones
// have no number.
std::string import_text(const StubNode& node);

// What export makes of an operator on inputs a, b, ...: one line a node, "Clip(a, [0], [6])" with
// constants spelled out and attributes behind; or "body" where the body is exported instead.
std::string export_text(std::string_view op, const Attrs& attrs,
                        const std::vector<TensorType>& inputs, int opset);

}  // namespace egret::ir
