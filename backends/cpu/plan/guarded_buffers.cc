// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/plan/guarded_buffers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "backends/memory_planner.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (static_cast<void>(0))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (static_cast<void>(0))
#endif

namespace egret::backends::cpu {
namespace {

// Neither zero nor a common filler; as a float, 3.4e-41.
constexpr std::byte kPattern{0x5e};

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

GuardedBuffers::~GuardedBuffers() {
  for (const Buffer& buffer : buffers_) {
    // Later mappings at these addresses must not inherit the poison.
    ASAN_UNPOISON_MEMORY_REGION(buffer.pages, buffer.accessible_bytes);
    munmap(buffer.pages - page_bytes(), buffer.accessible_bytes + 2 * page_bytes());
  }
}

std::byte* GuardedBuffers::allocate(std::size_t bytes) {
  const std::size_t page = page_bytes();
  const std::size_t padded = round_up(std::max<std::size_t>(bytes, 1), kArenaAlignment);
  const std::size_t accessible = round_up(padded, page);
  void* const mapped = mmap(nullptr, accessible + 2 * page, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  std::byte* const pages = static_cast<std::byte*>(mapped) + page;
  if (mprotect(pages, accessible, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapped, accessible + 2 * page);
    throw std::bad_alloc();
  }
  std::memset(pages, static_cast<int>(kPattern), accessible);
  std::byte* const data = pages + (accessible - padded);
  ASAN_POISON_MEMORY_REGION(pages, static_cast<std::size_t>(data - pages));
  ASAN_POISON_MEMORY_REGION(data + bytes, padded - bytes);
  buffers_.push_back({pages, accessible, data, bytes});
  return data;
}

void GuardedBuffers::scramble() {
  for (const Buffer& buffer : buffers_) std::memset(buffer.data, 0xff, buffer.bytes);
}

// Not instrumented: it reads the poisoned bytes.
__attribute__((no_sanitize("address"))) base::Status GuardedBuffers::check() const {
  for (const Buffer& buffer : buffers_) {
    const std::byte* const behind = buffer.data + buffer.bytes;
    const std::byte* const end = buffer.pages + buffer.accessible_bytes;
    for (const std::byte* place = buffer.pages; place != end; ++place) {
      if (place == buffer.data) place = behind;
      if (place == end) break;
      if (*place == kPattern) continue;
      return base::internal_error("byte " + std::to_string(place - buffer.data) +
                                  " of a buffer of " + std::to_string(buffer.bytes) +
                                  " bytes was written");
    }
  }
  return base::ok();
}

}  // namespace egret::backends::cpu
