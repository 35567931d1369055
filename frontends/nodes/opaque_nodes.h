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
  std::string proto;  // a serialized onnx.NodeProto
  int opset = 0;      // of ai.onnx; 0: the node is of another domain
  // By position; inputs that are not among them are operands, in order.
  std::map<int, FixedInput> fixed{};
};

// By the key in ir::OpaqueOutput::node.
using OpaqueNodes = std::map<std::string, OpaqueNode>;

}  // namespace egret::frontends
