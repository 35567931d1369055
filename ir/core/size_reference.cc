// SPDX-License-Identifier: Apache-2.0
#include "ir/core/size_reference.h"

#include <algorithm>

#include "ir/core/index_arithmetic.h"
#include "ir/core/symbolic_scope.h"

namespace egret::ir {

std::int64_t target_of_axis(const TensorType& type, int axis) {
  const Index size = type.dims[static_cast<std::size_t>(axis)];
  return open_integer(size).value_or(size_of_axis(axis));
}

std::int64_t target_of_axes(const TensorType& type, int begin, int end) {
  const auto axes = std::span(type.dims).subspan(static_cast<std::size_t>(begin),
                                                 static_cast<std::size_t>(end - begin));
  if (SymbolicScope::current() != nullptr) {
    if (const auto whole = open_integer(product(axes))) return *whole;
  }
  std::int64_t joint = 1;
  for (int axis = begin; axis < end; ++axis) {
    const std::int64_t size = target_of_axis(type, axis);
    if (size == 1) continue;
    // A reference has no product with another size: leave the product to inference.
    if (joint != 1 && (refers_to_axis(size) || joint < 0)) return kInferredSize;
    std::int64_t next = size;
    if (joint != 1 && __builtin_mul_overflow(joint, size, &next)) return kInferredSize;
    joint = next;
  }
  return joint;
}

// A target shape as sizes. The one inferred size is the quotient of the input's sizes and the known
// ones, with common factors cancelled.
base::Result<Dims> target_dims(const TensorType& input, const Integers& target) {
  Dims dims;
  std::vector<Index> known;
  std::ptrdiff_t inferred = -1;
  for (const std::int64_t size : target) {
    if (size == kInferredSize) {
      if (inferred >= 0) return base::bad_input("only one size can be inferred");
      inferred = static_cast<std::ptrdiff_t>(dims.size());
      dims.push_back(0);
      continue;
    }
    if (refers_to_axis(size) && referred_axis(size) >= input.rank()) {
      return base::bad_input("size " + std::to_string(size) + " refers to axis " +
                             std::to_string(referred_axis(size)) + ", the input has rank " +
                             std::to_string(input.rank()));
    }
    dims.push_back(refers_to_axis(size) ? input.dims[static_cast<std::size_t>(referred_axis(size))]
                                        : index_of_integer(size));
    known.push_back(dims.back());
  }
  if (inferred < 0) return dims;
  const Quotient quotient = cancelled_quotient(input.dims, known);
  if (quotient.exact.is_false()) {
    return base::bad_input("the elements of " + to_string(input) + " do not fill " +
                           to_string(AttrValue(target)));
  }
  dims[static_cast<std::size_t>(inferred)] = quotient.value;
  return dims;
}

Integers resolved_target(const TensorType& input, Integers target) {
  const auto dims = target_dims(input, target);
  if (!dims.ok()) return target;
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] = open_integer((*dims)[i]).value_or(target[i]);
  }
  return target;
}

}  // namespace egret::ir
