// SPDX-License-Identifier: Apache-2.0
// ONNX models from bytes to protobuf messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/status.h"

namespace egret::onnx {
class ModelProto;
}  // namespace egret::onnx

namespace egret::frontends {

struct OnnxModelInfo;

// Errors: bad_input for files larger than 2 GiB, for a broken wire form with the byte offset, and
// for what check_model_wire() refuses; for files also read errors, with the path. A regular file is
// never in memory as a whole beside the parsed model.
base::Status parse_onnx(std::span<const std::byte> bytes, onnx::ModelProto& model);
base::Status parse_onnx_file(const std::string& path, onnx::ModelProto& model);
OnnxModelInfo info_of(const onnx::ModelProto& model);

}  // namespace egret::frontends
