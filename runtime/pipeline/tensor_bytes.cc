// SPDX-License-Identifier: Apache-2.0
#include "runtime/pipeline/tensor_bytes.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace egret::runtime {
namespace {

base::Status wrong_length() {
  return base::internal_error("ranks do not agree on the messages of a pipeline");
}

}  // namespace

MessageBytes bytes_of(const ir::Tensor& tensor) {
  return {tensor.data().begin(), tensor.data().end()};
}

MessageBytes bytes_of(double number) {
  MessageBytes bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

base::Result<double> number_of(const MessageBytes& bytes) {
  double number = 0;
  if (bytes.size() != sizeof number) return wrong_length();
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

void add_to(ir::Tensor& sum, const ir::Tensor& part) {
  if (sum.elements() == 0 && part.elements() != 0) {
    sum = part;
  } else if (sum.dtype() == ir::DType::kF32) {
    const auto from = part.as<float>();
    const auto to = sum.mutable_as<float>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  } else {
    for (std::int64_t i = 0; i < sum.elements(); ++i)
      sum.set_f64(i, sum.f64_at(i) + part.f64_at(i));
  }
}

base::Result<ir::Tensor> tensor_of(const MessageBytes& bytes, const ir::TensorType& type) {
  ir::Tensor tensor = ir::Tensor::unfilled(type);
  if (static_cast<std::int64_t>(bytes.size()) != tensor.bytes()) return wrong_length();
  std::ranges::copy(bytes, tensor.mutable_data().begin());
  return tensor;
}

void append_runs(const ir::Tensor& share, std::span<const parallel::ElementRun> runs,
                 MessageBytes& bytes) {
  const std::size_t size = ir::byte_size(share.dtype());
  for (const parallel::ElementRun& run : runs) {
    const auto piece = share.data().subspan(static_cast<std::size_t>(run.from) * size,
                                            static_cast<std::size_t>(run.count) * size);
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
}

base::Status write_runs(const MessageBytes& bytes, std::size_t& at,
                        std::span<const parallel::ElementRun> runs, ir::Tensor& share) {
  const std::size_t size = ir::byte_size(share.dtype());
  const std::span<std::byte> to = share.mutable_data();
  for (const parallel::ElementRun& run : runs) {
    const std::size_t count = static_cast<std::size_t>(run.count) * size;
    if (at + count > bytes.size()) return wrong_length();
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count,
                to.subspan(static_cast<std::size_t>(run.to) * size).begin());
    at += count;
  }
  return base::ok();
}

base::Result<ir::Tensor> rows_of(const ir::Tensor& whole, const ir::TensorType& part,
                                 std::int64_t at) {
  ir::Tensor rows = ir::Tensor::unfilled(part);
  if (whole.dtype() != part.dtype || (at + 1) * rows.bytes() > whole.bytes())
    return base::bad_input("an input of a training step is too small for its micro-batches");
  std::ranges::copy(whole.data().subspan(static_cast<std::size_t>(at * rows.bytes()),
                                         static_cast<std::size_t>(rows.bytes())),
                    rows.mutable_data().begin());
  return rows;
}

}  // namespace egret::runtime
