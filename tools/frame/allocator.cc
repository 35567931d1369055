// SPDX-License-Identifier: Apache-2.0
#include "tools/frame/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/system/page_pool.h"

#if defined(EGRET_WITH_MIMALLOC)
#include <mimalloc.h>
#pragma weak mi_option_set  // test programs are not linked with it
#endif

// Without memory std::bad_alloc is thrown, as the language says: mimalloc, which is written in C,
// ends the program in its own operators. Its malloc() is what these call.
#if defined(EGRET_WITH_MIMALLOC)
void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(std::max<std::size_t>(bytes, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  const std::size_t least = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  if (::posix_memalign(&memory, least, std::max<std::size_t>(bytes, 1)) != 0)
    throw std::bad_alloc();
  return memory;
}
void* operator new[](std::size_t bytes) { return operator new(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return operator new(bytes, alignment);
}
// The other half of each pair.
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace egret::tools {

void give_freed_memory_back() {
  base::page_pool().keep_at_most(base::PagePool::kLeastKept);
#if defined(EGRET_WITH_MIMALLOC)
  if (&mi_option_set != nullptr) mi_option_set(mi_option_decommit_delay, 0);
#endif
}

void keep_freed_memory() { base::page_pool().keep_at_most(base::PagePool::kMuchKept); }

}  // namespace egret::tools
