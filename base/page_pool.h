// SPDX-License-Identifier: Apache-2.0
// PagePool: memory for large arrays, page by page, of which the system has back what is freed.
//
// A general allocator rounds large sizes up to classes and keeps what was freed for a while. Both
// cost weights their size again: with pages of 2 MiB the rest of a class is resident, too, and
// while weights are packed, old and new lie in memory together.
//
// Invariants:
//   1. Ranges are disjoint and cover what was mapped. Two free ranges side by side differ in kind.
//   2. A clean range reads as zeros. Freed ranges are dirty: still resident, and given to the next
//      who asks. There are never more than kMostDirty bytes of them: then all become clean.
//   3. Clean ranges may share large pages with what is used, and be resident for it, until trim().
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace egret::base {

class PagePool {
 public:
  static constexpr std::size_t kMostDirty = 4U << 20;

  struct Block {
    std::byte* data;  // at the start of a page
    bool zeroed;      // nobody has written here
  };

  PagePool() = default;
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;
  ~PagePool();

  // The smallest free range that is large enough, or new pages. Throws std::bad_alloc. Any thread;
  // time linear in the number of blocks, which is little beside filling one.
  Block allocate(std::size_t bytes);
  void free(std::byte* data) noexcept;
  // No free range is resident any more. For after many blocks came and went, before many live long:
  // what shared a large page with a free range then lies on small ones.
  void trim() noexcept;

  std::size_t dirty_bytes() const;
  std::size_t mapped_bytes() const;

 private:
  enum class Kind : unsigned char { kUsed, kDirty, kClean, kMappedAlone };
  struct Range {
    std::size_t bytes;
    Kind kind;
  };
  using Ranges = std::map<std::byte*, Range>;

  Ranges::iterator smallest_fitting(std::size_t bytes);
  Ranges::iterator merge_neighbours(Ranges::iterator range) noexcept;
  void give_back(Ranges::iterator range) noexcept;
  void clean_dirty() noexcept;

  mutable std::mutex mutex_;
  Ranges ranges_;
  std::size_t dirty_ = 0;
};

// The program's. It outlives all objects.
PagePool& page_pool();

}  // namespace egret::base
