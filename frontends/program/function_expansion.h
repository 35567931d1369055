// SPDX-License-Identifier: Apache-2.0
// The size of a model after inlining its local functions, computed without inlining: forty
// functions that each call the next one twice are a small file and 2^40 nodes.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace egret::onnx {
class ModelProto;
}

namespace egret::frontends {

// Errors: bad_input for a function that calls itself, directly or through others, and for more than
// max_nodes nodes. Linear in the model.
base::Status check_expansion(const onnx::ModelProto& model, std::int64_t max_nodes);

}  // namespace egret::frontends
