// SPDX-License-Identifier: Apache-2.0
// A vector of trivially copyable values, for tables that may take most of a machine's memory.
//
// It differs from std::vector in three ways. Large blocks grow in place or by moving pages (mremap)
// instead of copying, so growth never holds the old and the new block at once. They grow by about
// 1/32 instead of doubling, so little capacity is unused. Their pages are huge pages, because the
// tables of a large e-graph are accessed at random. Small arrays live on the ordinary heap and
// double, or grow by a quarter above 1 MiB. Running out of memory throws std::bad_alloc, as with
// std::vector.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace egret::egraph {

// The block of a FlatArray. Resizing keeps the content, up to the smaller of the two sizes.
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
  // Adds `count` values of undefined content and returns a pointer to the first.
  T* extend(std::size_t count) {
    if ((size_ + count) * sizeof(T) > block_.capacity) block_.grow((size_ + count) * sizeof(T));
    size_ += count;
    return data() + (size_ - count);
  }
  // The values must not be in this array: growing may move it.
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
  // Releases unused capacity.
  void shrink_to_fit() { block_.resize(size_ * sizeof(T)); }

  std::size_t bytes() const { return block_.capacity; }

 private:
  FlatBlock block_;
  std::size_t size_ = 0;
};

}  // namespace egret::egraph
