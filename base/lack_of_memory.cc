// SPDX-License-Identifier: Apache-2.0
#include "base/lack_of_memory.h"

#include <sys/mman.h>

#include <new>
#include <system_error>

namespace egret::base {

bool is_lack_of_memory(const std::exception& thrown) {
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) return true;
  const auto* const refused = dynamic_cast<const std::system_error*>(&thrown);
  return refused != nullptr && (refused->code() == std::errc::resource_unavailable_try_again ||
                                refused->code() == std::errc::not_enough_memory);
}

bool has_room(std::size_t bytes) {
  void* const place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return false;
  ::munmap(place, bytes);
  return true;
}

}  // namespace egret::base
