// SPDX-License-Identifier: Apache-2.0
#include "base/system/page_pool.h"

#include <sys/mman.h>

#include <cstdint>
#include <iterator>
#include <new>

namespace egret::base {
namespace {

constexpr std::size_t kPage = 4U << 10;
constexpr std::size_t kLargePage = 2U << 20;
constexpr std::size_t kChunk = 32U << 20;       // mapped at a time, for blocks
constexpr std::size_t kLeastLarge = 16U << 20;  // of this size they are mapped alone, and unmapped

std::size_t rounded_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

// Maps pages from the start of a large page on, or returns nullptr. Arrays are read from end to
// end: with large pages, which the system grants on request, addresses are translated 512 times
// less often.
std::byte* map_pages(std::size_t bytes) {
  const std::size_t reserved = bytes + kLargePage;
  if (reserved < bytes) return nullptr;
  void* const mapped = mmap(nullptr, reserved, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t before =
      (kLargePage - reinterpret_cast<std::uintptr_t>(begin) % kLargePage) % kLargePage;
  if (before > 0) (void)munmap(begin, before);
  (void)munmap(begin + before + bytes, kLargePage - before);
#if defined(MADV_HUGEPAGE)
  (void)madvise(begin + before, bytes, MADV_HUGEPAGE);
#endif
  return begin + before;
}

}  // namespace

PagePool::~PagePool() {
  for (const auto& [data, range] : ranges_) (void)munmap(data, range.bytes);
}

// Takes the front of the smallest range that fits; the rest stays free, of the same kind.
PagePool::Block PagePool::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX - kPage) throw std::bad_alloc();
  const std::size_t size = rounded_up(bytes == 0 ? 1 : bytes, kPage);
  const std::lock_guard lock(mutex_);
  auto found = smallest_fitting(size);
  if (found == ranges_.end()) {
    std::size_t mapped = size >= kLeastLarge ? size : kChunk;
    std::byte* pages = map_pages(mapped);
    if (pages == nullptr) {  // the least that will do, when free ranges are given back
      clean_until(0);
      mapped = size;
      pages = map_pages(mapped);
    }
    if (pages == nullptr) throw std::bad_alloc();
    try {
      found = ranges_.emplace(pages, Range{mapped, Kind::kClean}).first;
    } catch (const std::bad_alloc&) {
      (void)munmap(pages, mapped);
      throw;
    }
  }
  const auto [whole, kind] = found->second;
  if (whole > size) ranges_.emplace(found->first + size, Range{whole - size, kind});
  found->second = {size, Kind::kUsed};
  if (kind == Kind::kDirty) dirty_ -= size;
  return {found->first, kind == Kind::kClean};
}

// Cleaning down to half of the limit, not to the limit itself, keeps system calls rare.
void PagePool::free(std::byte* data) noexcept {
  const std::lock_guard lock(mutex_);
  const auto freed = ranges_.find(data);
  if (freed == ranges_.end()) return;
  freed->second.kind = Kind::kDirty;
  dirty_ += freed->second.bytes;
  merge_neighbours(freed);
  if (dirty_ > most_dirty_) clean_until(most_dirty_ / 2);
}

void PagePool::keep_at_most(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  most_dirty_ = bytes;
  if (dirty_ > most_dirty_) clean_until(most_dirty_ / 2);
}

std::size_t PagePool::dirty_bytes() const {
  const std::lock_guard lock(mutex_);
  return dirty_;
}

std::size_t PagePool::mapped_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const auto& [data, range] : ranges_) bytes += range.bytes;
  return bytes;
}

PagePool::Ranges::iterator PagePool::smallest_fitting(std::size_t bytes) {
  auto best = ranges_.end();
  for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
    if (range->second.kind != Kind::kUsed && range->second.bytes >= bytes &&
        (best == ranges_.end() || range->second.bytes < best->second.bytes))
      best = range;
  }
  return best;
}

// Joins the range with free neighbors of the same kind. Returns the joined range.
PagePool::Ranges::iterator PagePool::merge_neighbours(Ranges::iterator range) noexcept {
  const auto joins = [&](Ranges::iterator a, Ranges::iterator b) {
    return a->second.kind == b->second.kind && a->first + a->second.bytes == b->first;
  };
  if (const auto next = std::next(range); next != ranges_.end() && joins(range, next)) {
    range->second.bytes += next->second.bytes;
    ranges_.erase(next);
  }
  if (range == ranges_.begin()) return range;
  const auto previous = std::prev(range);
  if (!joins(previous, range)) return range;
  previous->second.bytes += range->second.bytes;
  ranges_.erase(range);
  return previous;
}

// Returns the pages of a dirty range to the system: large ranges are unmapped, others become clean.
// Returns the range after it.
PagePool::Ranges::iterator PagePool::give_back(Ranges::iterator range) noexcept {
  const std::size_t bytes = range->second.bytes;
  if (bytes >= kLeastLarge && munmap(range->first, bytes) == 0) {
    dirty_ -= bytes;
    return ranges_.erase(range);
  }
  // The range reads as zeros only if this succeeds.
  if (madvise(range->first, bytes, MADV_DONTNEED) != 0) return std::next(range);
  dirty_ -= bytes;
  range->second.kind = Kind::kClean;
  return std::next(merge_neighbours(range));
}

void PagePool::clean_until(std::size_t dirty) noexcept {
  for (auto range = ranges_.begin(); range != ranges_.end() && dirty_ > dirty;)
    range = range->second.kind == Kind::kDirty ? give_back(range) : std::next(range);
}

PagePool& page_pool() {
  static auto* const pool = new PagePool;  // tensors may be freed while statics are destroyed
  return *pool;
}

}  // namespace egret::base
