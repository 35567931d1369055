// SPDX-License-Identifier: Apache-2.0
// ONNX's TensorProto to and from ir::Tensor.
//
// A TensorProto keeps its elements in one of four forms: raw little-endian bytes, typed repeated
// fields (narrow types widened into int32_data; f16 and bf16 as their bits), or a range of another
// file. Exactly one may be used, with as many elements as the dims state; this is checked before
// memory is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/core/tensor.h"

namespace egret::onnx {
class TensorProto;
}

namespace egret::frontends {

// `folder` is where external data may lie ("": nowhere).
// Errors: bad_input for contradictions; unsupported for types that Egret lacks (strings, complex,
// float8, int4).
base::Result<ir::Tensor> read_tensor(const onnx::TensorProto& proto, const std::string& folder,
                                     std::int64_t max_bytes);

// Whether the elements lie in another file.
bool is_external(const onnx::TensorProto& proto);
// The location of the external data of a tensor; empty when it has none.
std::string external_location(const onnx::TensorProto& proto);

// A human name of an ONNX element type, for messages.
std::string onnx_type_name(std::int64_t code);

// Raw bytes in the proto itself.
void fill_tensor_proto(onnx::TensorProto& proto, const ir::Tensor& tensor, std::string_view name);
// All but the bytes.
void fill_tensor_header(onnx::TensorProto& proto, const ir::Tensor& tensor, std::string_view name);

}  // namespace egret::frontends
