// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "ir/core/denotation.h"
#include "ir/core/tensor.h"

namespace egret::frontends {

// An input of a node that is no operand of the opaque operator: absent, a constant that its
// operators read at import, or sizes that are computed from the shapes of other values.
using FixedInput = std::variant<std::monostate, ir::Tensor, std::vector<ir::Index>>;

// A node that the importer left as it is.
struct OpaqueNode {
  std::string proto{};  // a serialized onnx.NodeProto
  int opset = 0;        // of ai.onnx; 0: the node is of another domain
  // By position; inputs that are not among them are operands, in order.
  std::map<int, FixedInput> fixed{};
  // Not a node, but a graph input or an initializer of a type that Egret lacks: its name, and of an
  // initializer a serialized onnx.TensorProto.
  std::string value{};
  std::string tensor{};
};

// By the key in the attribute `node` of ir::opaque_operator().
using OpaqueNodes = std::map<std::string, OpaqueNode>;

}  // namespace egret::frontends
