// SPDX-License-Identifier: Apache-2.0
// The attributes of ONNX's operators. An unknown name is usually misspelt, and a model read without
// it computes something else.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace egret::onnx {
class NodeProto;
}

namespace egret::frontends {

// Checks that each attribute is given once, exists in some version of the operator, and that none
// required by this version is missing. For operators outside of the table (other domains, newer
// ones) only the first check applies. Errors: bad_input that names the attribute.
base::Status check_attributes(const onnx::NodeProto& node, std::int64_t opset);

}  // namespace egret::frontends
