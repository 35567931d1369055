// SPDX-License-Identifier: Apache-2.0
// Shapes and tensor types. A dimension is an Index: a number, or an expression over symbols.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "base/small_vector.h"
#include "ir/core/denotation.h"
#include "ir/core/dtype.h"

namespace egret::ir {

using Shape = base::SmallVector<std::int64_t, 6>;  // concrete sizes
using Dims = base::SmallVector<Index, 4>;          // sizes that may be symbolic

// The product of the sizes; nullopt when a size is negative or the product exceeds 2^62.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape);
// Row-major strides in elements.
Shape row_major_strides(std::span<const std::int64_t> shape);
std::string to_string(std::span<const std::int64_t> shape);  // "[1,3,224,224]"

struct TensorType {
  DType dtype = DType::kF32;
  Dims dims{};

  TensorType() = default;
  TensorType(DType type, Dims sizes) : dtype(type), dims(std::move(sizes)) {}
  TensorType(DType type, std::span<const std::int64_t> sizes)
      : dtype(type), dims(sizes.begin(), sizes.end()) {}
  TensorType(DType type, std::initializer_list<std::int64_t> sizes)
      : dtype(type), dims(sizes.begin(), sizes.end()) {}

  int rank() const { return static_cast<int>(dims.size()); }
  bool is_concrete() const;
  Shape shape() const;            // requires is_concrete()
  std::int64_t elements() const;  // requires is_concrete()
  std::int64_t bytes() const;     // requires is_concrete()

  friend bool operator==(const TensorType& a, const TensorType& b);
};

std::string to_string(const TensorType& type);  // "f32[N,3,224,224]"
std::uint64_t hash_value(const TensorType& type);

}  // namespace egret::ir
