// SPDX-License-Identifier: Apache-2.0
// Files of tensors: a TensorProto, such as the data of the ONNX backend tests, or NumPy's arrays.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/core/tensor.h"

namespace egret::frontends {

// Of any of the kinds that a user may have: .npy, .npz with a member NAME or only one, else a
// TensorProto. The contents tell. Errors name the file: unavailable if it cannot be read; bad_input
// for damage; unsupported for element types that Egret lacks.
base::Result<ir::Tensor> read_tensor_file(const std::string& path, std::string_view name);

base::Result<ir::Tensor> read_tensor_proto(const std::string& path);
std::string write_tensor_proto(const ir::Tensor& tensor, std::string_view name = "");

}  // namespace egret::frontends
