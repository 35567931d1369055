// SPDX-License-Identifier: Apache-2.0
// Tensors and numbers as the bytes of messages.
#pragma once

#include <span>

#include "base/status.h"
#include "ir/core/tensor.h"
#include "parallel/pipeline/block_moves.h"
#include "runtime/mpi/messages.h"

namespace egret::runtime {

MessageBytes bytes_of(const ir::Tensor& tensor);
MessageBytes bytes_of(double number);
// Errors: internal, for bytes of another length.
base::Result<double> number_of(const MessageBytes& bytes);
// Adds PART of the same type; a sum without elements becomes the part.
void add_to(ir::Tensor& sum, const ir::Tensor& part);
base::Result<ir::Tensor> tensor_of(const MessageBytes& bytes, const ir::TensorType& type);

// Appends these elements of a share, and writes such bytes from AT on into another one; AT moves
// on. Errors: internal, for too few bytes.
void append_runs(const ir::Tensor& share, std::span<const parallel::ElementRun> runs,
                 MessageBytes& bytes);
base::Status write_runs(const MessageBytes& bytes, std::size_t& at,
                        std::span<const parallel::ElementRun> runs, ir::Tensor& share);

// The part number AT of a tensor whose first axis is cut into equal parts of type PART. Errors:
// bad_input, for a tensor without that part.
base::Result<ir::Tensor> rows_of(const ir::Tensor& whole, const ir::TensorType& part,
                                 std::int64_t at);

}  // namespace egret::runtime
