// SPDX-License-Identifier: Apache-2.0
// Files that hold one TensorProto, such as the data of the ONNX backend tests.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/core/tensor.h"

namespace egret::frontends {

base::Result<ir::Tensor> read_tensor_proto(const std::string& path);
std::string write_tensor_proto(const ir::Tensor& tensor, std::string_view name = "");

}  // namespace egret::frontends
