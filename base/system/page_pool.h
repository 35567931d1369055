// SPDX-License-Identifier: Apache-2.0
// PagePool: memory for large arrays, in whole pages. Freed pages go back to the system.
//
// A general allocator rounds large sizes up to classes and keeps what was freed for a while. Both
// cost weights their size again: with pages of 2 MiB the rest of a class is resident, too, and
// while weights are packed, old and new lie in memory together.
//
// Invariants:
//   1. Ranges are disjoint and cover what was mapped. Two free ranges side by side differ in kind.
//   2. A clean range reads as zeros. Freed ranges are dirty: still resident, and reused by the next
//      allocation. When there are more than keep_at_most() bytes of them, half of that stays.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace egret::base {

class PagePool {
 public:
  // The bytes of freed memory that usually stay resident. The system clears pages before it hands
  // them out again, which took half the time of interpreting a large graph. A process that only
  // runs one plan has its memory in use and can do with less.
  static constexpr std::size_t kUsuallyKept = 256U << 20;
  static constexpr std::size_t kLeastKept = 2U << 20;
  // For a process that makes one plan of a large model after the other.
  static constexpr std::size_t kMuchKept = std::size_t{4} << 30;

  struct Block {
    std::byte* data;  // at the start of a page
    bool zeroed;      // reads as zeros
  };

  PagePool() = default;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;
  ~PagePool();

  // The smallest free range that is large enough, or new pages. Throws std::bad_alloc. Any thread;
  // time linear in the number of blocks, which is little beside filling one.
  Block allocate(std::size_t bytes);
  void free(std::byte* data) noexcept;
  // At most this much freed memory stays resident.
  void keep_at_most(std::size_t bytes) noexcept;

  std::size_t dirty_bytes() const;
  std::size_t mapped_bytes() const;

 private:
  enum class Kind : unsigned char { kUsed, kDirty, kClean };
  struct Range {
    std::size_t bytes;
    Kind kind;
  };
  using Ranges = std::map<std::byte*, Range>;

  Ranges::iterator smallest_fitting(std::size_t bytes);
  Ranges::iterator merge_neighbours(Ranges::iterator range) noexcept;
  Ranges::iterator give_back(Ranges::iterator range) noexcept;
  void clean_until(std::size_t dirty) noexcept;

  mutable std::mutex mutex_;
  Ranges ranges_;
  std::size_t dirty_ = 0, most_dirty_ = kUsuallyKept;
};

// The program's. It outlives all objects.
PagePool& page_pool();

}  // namespace egret::base
