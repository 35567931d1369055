// SPDX-License-Identifier: Apache-2.0
// Buffers with nothing around them, to find kernels that touch memory beyond their operands. In an
// arena, such an access meets a neighbour or the padding of an alignment, and nobody notices.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"

namespace egret::backends::cpu {

// Each buffer lies between two pages that cannot be accessed, as close to the second one as the
// alignment of an arena allows. The bytes between a buffer and these pages hold a known pattern,
// which check() compares. Under the address sanitizer, instrumented code cannot touch them either.
// Compiled kernels of libraries are not instrumented; the pages and the pattern find their faults.
class GuardedBuffers {
 public:
  GuardedBuffers() = default;
  GuardedBuffers(const GuardedBuffers&) = delete;
  GuardedBuffers& operator=(const GuardedBuffers&) = delete;
  ~GuardedBuffers();

  // Throws std::bad_alloc.
  std::byte* allocate(std::size_t bytes);
  // Fills all buffers with 0xff: not a number in every format of reals.
  void scramble();
  // internal_error if bytes around a buffer were written. O(buffers x page size).
  base::Status check() const;

 private:
  struct Buffer {
    std::byte* pages;  // the first accessible page
    std::size_t accessible_bytes;
    std::byte* data;
    std::size_t bytes;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace egret::backends::cpu
