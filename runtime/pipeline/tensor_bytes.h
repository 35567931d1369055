// SPDX-License-Identifier: Apache-2.0
// Tensors and numbers as the bytes of messages.
#pragma once

#include <map>
#include <span>

#include "base/status.h"
#include "ir/core/tensor.h"
#include "parallel/pipeline/staged_step.h"
#include "runtime/mpi/messages.h"

namespace egret::runtime {

MessageBytes bytes_of(const ir::Tensor& tensor);
MessageBytes bytes_of(double number);
// Errors: internal, for bytes of another length.
base::Result<double> number_of(const MessageBytes& bytes);
// Adds PART of the same type; a sum without elements becomes the part.
void add_to(ir::Tensor& sum, const ir::Tensor& part);
base::Result<ir::Tensor> tensor_of(const MessageBytes& bytes, const ir::TensorType& type);

// The values of a boundary, or their gradients, by node. Errors: internal.
base::Status read_values(const MessageBytes& bytes,
                         std::span<const parallel::BoundaryValue> boundary, bool gradients,
                         std::map<std::size_t, ir::Tensor>& values);

// The part number AT of a tensor whose first axis is cut into equal parts of type PART. Errors:
// bad_input, for a tensor without that part.
base::Result<ir::Tensor> rows_of(const ir::Tensor& whole, const ir::TensorType& part,
                                 std::int64_t at);

}  // namespace egret::runtime
