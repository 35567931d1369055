// SPDX-License-Identifier: Apache-2.0
// Tests of what happens where the system refuses memory. Sanitizers reserve terabytes, so such
// tests are left out under them.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EGRET_LIMITS_ADDRESS_SPACE
#endif

namespace egret {

// Limits this process, of a death test, to the address space that it has and so many bytes more.
inline void limit_address_space(std::size_t more_bytes) {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  const rlim_t bytes = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + more_bytes;
  const rlimit limit{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &limit);
}

}  // namespace egret
