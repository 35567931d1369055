// SPDX-License-Identifier: Apache-2.0
// Gather along an axis: rows of x copied by index, which counts modulo the size of the axis.
#include <cstring>
#include <string>
#include <utility>

#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/loops/parallel_loop.h"

namespace egret::backends::cpu {
namespace {

class GatherStep : public Step {
 public:
  // `checked`: the place to name where an index is outside of the axis; empty: it is wrapped.
  GatherStep(const Operand& x, const Operand& indices, const Operand& output, std::size_t axis,
             int threads, std::string checked)
      : x_(x), indices_(indices), output_(output), threads_(threads), checked_(std::move(checked)) {
    const ir::Shape shape = x.shape();
    for (std::size_t i = 0; i < axis; ++i) outer_ *= shape[i];
    size_ = shape[axis];
    row_bytes_ = static_cast<std::int64_t>(ir::byte_size(x.type.dtype));
    for (std::size_t i = axis + 1; i < shape.size(); ++i) row_bytes_ *= shape[i];
    count_ = indices.type.elements();
  }

  base::Status run(const Addresses& addresses) override {
    if (size_ == 0) return base::bad_input("gather: an index into an empty axis");
    const std::byte* const from = addresses.at<std::byte>(x_);
    std::byte* const to = addresses.at<std::byte>(output_);
    const bool wide = indices_.type.dtype == ir::DType::kI64;
    const auto* const wide_indices = addresses.at<std::int64_t>(indices_);
    const auto* const narrow_indices = addresses.at<std::int32_t>(indices_);
    const auto index_at = [&](std::int64_t at) {
      return wide ? wide_indices[at] : std::int64_t{narrow_indices[at]};
    };
    for (std::int64_t at = 0; !checked_.empty() && at < count_; ++at) {
      const std::int64_t index = index_at(at);
      if (index < -size_ || index >= size_) {
        return base::bad_input(checked_ + ": index " + std::to_string(index) + " at place " +
                               std::to_string(at) + " is outside of an axis of size " +
                               std::to_string(size_));
      }
    }
    const std::int64_t rows = outer_ * count_;
    const auto bytes = static_cast<std::size_t>(row_bytes_);
    // A row of the result belongs to one outer index and one entry of `indices`. It is contiguous
    // in both tensors.
    parallel_for(rows * row_bytes_ > (128 << 10) ? threads_ : 1, rows, [&](std::int64_t row) {
      const std::int64_t at = row % count_;
      std::int64_t index = index_at(at) % size_;
      if (index < 0) index += size_;
      std::memcpy(to + row * row_bytes_, from + (row / count_ * size_ + index) * row_bytes_, bytes);
    });
    return base::ok();
  }

 private:
  Operand x_, indices_, output_;
  int threads_;
  std::string checked_;
  std::int64_t outer_ = 1, size_ = 1, row_bytes_ = 1, count_ = 1;
};

}  // namespace

base::Status make_gather_kernel(PlanBuilder& builder, const Group& group) {
  const ir::Node& node = builder.node(group.root());
  const ir::DType index_type = builder.node(node.inputs[1]).type.dtype;
  if (index_type != ir::DType::kI64 && index_type != ir::DType::kI32)
    return base::unsupported("gather with indices of a type other than i64 and i32");
  if (node.type.elements() == 0) return base::unsupported("an empty tensor");
  const Operand x = builder.in_row_major(node.inputs[0]);
  const Operand indices = builder.in_row_major(node.inputs[1]);
  const Operand output = builder.output(group.root(), row_major(node.type.shape()));
  const Operand touched[] = {x, indices, output};
  builder.add(
      std::make_unique<GatherStep>(
          x, indices, output, static_cast<std::size_t>(node.attrs.integer("axis")),
          builder.threads(),
          builder.options().checked_indices ? node_label(builder.graph(), group.root()) : ""),
      touched, "gather", "own:rows");
  return base::ok();
}

}  // namespace egret::backends::cpu
