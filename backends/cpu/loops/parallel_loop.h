// SPDX-License-Identifier: Apache-2.0
// Loops over pieces of work on several threads.
#pragma once

#include <cstdint>

namespace egret::backends::cpu {

// Runs body(0) .. body(count - 1) on `threads` threads, in ranges of equal length. `body` does not
// throw. Forming a team of threads takes longer than a small kernel, so one thread forms none.
template <typename Body>
void parallel_for(int threads, std::int64_t count, const Body& body) {
  if (threads <= 1 || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

}  // namespace egret::backends::cpu
