// SPDX-License-Identifier: Apache-2.0
// Dense row-major tensors of concrete shape. Copies share their buffer; mutable_data() clones a
// shared buffer before the first write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/hash.h"
#include "base/random.h"
#include "base/status.h"
#include "ir/core/tensor_type.h"

namespace egret::ir {

class Tensor {
 public:
  Tensor() = default;
  // Zero-filled. The type is concrete; 64-byte aligned.
  explicit Tensor(TensorType type);
  Tensor(DType dtype, std::span<const std::int64_t> shape) : Tensor(TensorType(dtype, shape)) {}

  // Uninitialized contents: the caller writes every element.
  static Tensor unfilled(TensorType type);

  // A tensor over memory of somebody else, which `memory` keeps alive and which nobody writes while
  // the tensor lives. may_borrow() must hold.
  static Tensor over(TensorType type, std::shared_ptr<std::byte[]> memory);
  // Whether kernels may read this memory: they read whole vectors, at the end too.
  static bool may_borrow(const void* memory, std::int64_t bytes);

  // A tensor over `values`, converted to dtype. The sizes must agree.
  static Tensor of(DType dtype, std::span<const std::int64_t> shape,
                   std::span<const double> values);
  static Tensor of_integers(std::span<const std::int64_t> values);  // i64[n]
  static Tensor scalar(DType dtype, double value);                  // rank 0
  static Tensor filled(TensorType type, double value);
  // Floats uniform in [-1, 1); integers in [0, 10]; bools fair. Same seed, same tensor.
  static Tensor random(TensorType type, base::Random& random);

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  Shape shape() const { return type_.shape(); }
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const {
    return elements_ * static_cast<std::int64_t>(byte_size(type_.dtype));
  }

  std::span<const std::byte> data() const {
    return {buffer_.get(), static_cast<std::size_t>(bytes())};
  }
  // The span must not be written after a call of content_hash(); ask for a new span.
  std::span<std::byte> mutable_data();
  // Typed views; T must be the storage type of dtype (f16, bf16: uint16_t; bool: uint8_t).
  template <typename T>
  std::span<const T> as() const {
    EGRET_CHECK(sizeof(T) == byte_size(type_.dtype), "element size");
    return {reinterpret_cast<const T*>(buffer_.get()), static_cast<std::size_t>(elements_)};
  }
  template <typename T>
  std::span<T> mutable_as() {
    EGRET_CHECK(sizeof(T) == byte_size(type_.dtype), "element size");
    return {reinterpret_cast<T*>(mutable_data().data()), static_cast<std::size_t>(elements_)};
  }

  // One element, converted. Integers above 2^53 lose digits through f64; use the i64 accessors.
  // Storing a real into an integer truncates and wraps; into bool, tests against 0.
  double f64_at(std::int64_t i) const;
  std::int64_t i64_at(std::int64_t i) const;
  void set_f64(std::int64_t i, double value);
  void set_i64(std::int64_t i, std::int64_t value);

  // The same elements under another shape of equal count; shares the buffer.
  Tensor reshaped(std::span<const std::int64_t> shape) const;

  // A hash of type and contents. O(bytes); the hash of a large tensor is kept with its buffer.
  base::ContentHash content_hash() const;

 private:
  class KnownHash;
  bool allocate_as(TensorType type);  // whether the buffer is all zeros

  TensorType type_{};
  std::int64_t elements_ = 0;
  std::shared_ptr<std::byte[]> buffer_;
  // kept with a large shared buffer; small tensors have none
  std::shared_ptr<KnownHash> known_hash_;
};

std::string to_string(const Tensor& tensor, std::int64_t max_elements = 16);

}  // namespace egret::ir
