// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/flat_array.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace egret::egraph {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;
constexpr std::size_t kMapped = 2 * kHugePage;  // blocks from here on are mapped

bool mapped(std::size_t capacity) { return capacity >= kMapped; }

std::size_t rounded(std::size_t bytes) {
  return mapped(bytes) ? (bytes + kHugePage - 1) / kHugePage * kHugePage : bytes;
}

// Reserves address space aligned to a huge page, without memory behind it. It maps one huge page
// too much and unmaps the unaligned ends.
void* reserve(std::size_t bytes) {
  void* const start = ::mmap(nullptr, bytes + kHugePage, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(start);
  const std::size_t skip = (kHugePage - address % kHugePage) % kHugePage;
  char* const aligned = static_cast<char*>(start) + skip;
  if (skip > 0) ::munmap(start, skip);
  if (skip < kHugePage) ::munmap(aligned + bytes, kHugePage - skip);
  return aligned;
}

void* map(std::size_t bytes) {
  void* const place = reserve(bytes);
  void* const data =
      ::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (data == MAP_FAILED) {
    ::munmap(place, bytes);
    throw std::bad_alloc();
  }
  (void)::madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

// Tries to resize in place. If the address range behind is taken, moves the pages to a new aligned
// range; no content is copied.
void* remap(void* old, std::size_t old_bytes, std::size_t bytes) {
  void* data = ::mremap(old, old_bytes, bytes, 0);
  if (data == MAP_FAILED) {
    void* const place = reserve(bytes);
    data = ::mremap(old, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (data == MAP_FAILED) {
      ::munmap(place, bytes);
      throw std::bad_alloc();
    }
  }
  (void)::madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

}  // namespace

// A small array doubles, which makes growth O(1) amortized. A large one wastes too much memory that
// way. A mapped array grows by 1/32 only: mremap() moves page tables and not content, so growing
// often is cheap.
void FlatBlock::grow(std::size_t wanted) {
  constexpr std::size_t kSmallest = 64;
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  const std::size_t margin = mapped(capacity)     ? capacity / 32
                             : capacity >= kLarge ? capacity / 4
                                                  : capacity;
  resize(std::max({wanted, capacity + margin, kSmallest}));
}

// Blocks from kMapped bytes on are mapped, smaller ones come from malloc(). Only a change between
// the two kinds copies the content.
void FlatBlock::resize(std::size_t wanted) {
  wanted = rounded(wanted);
  if (wanted == capacity) return;
  if (mapped(capacity) && mapped(wanted)) {
    data = remap(data, capacity, wanted);
  } else if (mapped(capacity) || mapped(wanted)) {
    void* other = nullptr;
    if (mapped(wanted)) {
      other = map(wanted);
    } else if (wanted > 0) {
      other = std::malloc(wanted);
      if (other == nullptr) throw std::bad_alloc();
    }
    if (other != nullptr && data != nullptr) std::memcpy(other, data, std::min(capacity, wanted));
    if (mapped(capacity)) {
      ::munmap(data, capacity);
    } else {
      std::free(data);
    }
    data = other;
  } else if (wanted == 0) {
    std::free(data);
    data = nullptr;
  } else {
    void* const other = std::realloc(data, wanted);
    if (other == nullptr) throw std::bad_alloc();
    data = other;
  }
  capacity = wanted;
}

}  // namespace egret::egraph
