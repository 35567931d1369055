// SPDX-License-Identifier: Apache-2.0
// A vector of plain values for tables that may take most of a machine's memory.
//
// What std::vector does not give: large blocks grow in place or by moving pages (mremap) instead of
// copying, so growth never holds the old and the new block at one time; they grow by a page or a
// little more instead of doubling, so that little is reserved and unused; and their pages are huge
// ones, because the tables of a large e-graph are read at random. Smaller arrays live in the
// ordinary heap and double, or grow by a quarter when they are no longer small. Running out of
// memory is std::bad_alloc, as with std::vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace egret::egraph {

// The block of a FlatArray: `bytes` of it are kept, `capacity` becomes at least `wanted`.
struct FlatBlock {
  void* data = nullptr;
  std::size_t capacity = 0;  // bytes

  void grow(std::size_t wanted);    // by a margin that makes appending amortized O(1)
  void resize(std::size_t wanted);  // to just this much (rounded up to pages); 0 frees
};

template <typename T>
class FlatArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  FlatArray() = default;
  FlatArray(FlatArray&& other) noexcept
      : block_(std::exchange(other.block_, {})), size_(std::exchange(other.size_, 0)) {}
  FlatArray& operator=(FlatArray&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~FlatArray() { block_.resize(0); }

  T* data() { return static_cast<T*>(block_.data); }
  const T* data() const { return static_cast<const T*>(block_.data); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  T& back() { return data()[size_ - 1]; }
  const T& back() const { return data()[size_ - 1]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  std::span<const T> span() const { return {data(), size_}; }
  operator std::span<const T>() const { return span(); }  // NOLINT: as std::vector converts

  void push_back(T value) {
    if ((size_ + 1) * sizeof(T) > block_.capacity) block_.grow((size_ + 1) * sizeof(T));
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  // Room for `count` more values, whose content is not defined; where they begin.
  T* extend(std::size_t count) {
    if ((size_ + count) * sizeof(T) > block_.capacity) block_.grow((size_ + count) * sizeof(T));
    size_ += count;
    return data() + (size_ - count);
  }
  // The values must not be in this array.
  void append(std::span<const T> values) {
    if (values.empty()) return;
    T* const end = extend(values.size());
    std::memcpy(static_cast<void*>(end), values.data(), values.size_bytes());
  }
  void resize(std::size_t size, T value) {
    if (size > size_) {
      T* const begin = extend(size - size_);
      std::fill(begin, end(), value);
    }
    size_ = size;
  }
  void truncate(std::size_t size) { size_ = std::min(size, size_); }
  void clear() { size_ = 0; }
  // Gives memory back that is not in use.
  void shrink_to_fit() { block_.resize(size_ * sizeof(T)); }

  std::size_t bytes() const { return block_.capacity; }

 private:
  FlatBlock block_;
  std::size_t size_ = 0;
};

}  // namespace egret::egraph
