// SPDX-License-Identifier: Apache-2.0
// Whether ONNX has an operator that a composite can be written as.
#pragma once

#include <span>

#include "ir/graph/operator.h"

namespace egret::ir {

// Whether some opset has the operator. Otherwise the exporter writes its body (a fused_conv with an
// activation becomes a Conv and the activation). A primitive is always written as itself.
bool is_written_whole(const Operator& op, const Attrs& attrs, std::span<const TensorType> inputs,
                      const TensorType& output);

}  // namespace egret::ir
