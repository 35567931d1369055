// SPDX-License-Identifier: Apache-2.0
// Versions in which an operator of ai.onnx changed so that older nodes have another meaning or are
// invalid. Further types and attributes with a default leave old nodes as they are.
#pragma once

#include <string_view>

namespace egret::frontends {

// Whether a node of opset `from` means the same in opset `to`.
bool has_same_form(std::string_view op_type, int from, int to);

}  // namespace egret::frontends
