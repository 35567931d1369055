// SPDX-License-Identifier: Apache-2.0
// ONNX TopK has two outputs, which are two operators here.
#pragma once

#include "ir/graph/onnx_binding.h"

namespace egret::ir {

// Writes TopK for its output 0 (values) or 1 (indices).
OnnxExport topk_export(int output);

}  // namespace egret::ir
