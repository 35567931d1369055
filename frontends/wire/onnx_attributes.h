// SPDX-License-Identifier: Apache-2.0
// Which attributes ONNX's operators have. A name that an operator does not know is mostly a
// misspelt one, and a model that is read without it computes something else.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace egret::onnx {
class NodeProto;
}

namespace egret::frontends {

// Each attribute is given once, is one that the operator has in some version, and none that this
// version needs is missing. Of operators that are not in the table (other domains, newer ones)
// only the first. Errors: bad_input that names the attribute.
base::Status check_attributes(const onnx::NodeProto& node, std::int64_t opset);

}  // namespace egret::frontends
