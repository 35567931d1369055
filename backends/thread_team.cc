// SPDX-License-Identifier: Apache-2.0
#include "backends/thread_team.h"

#include <atomic>
#include <exception>
#include <new>
#include <thread>
#include <vector>

#include "base/lack_of_memory.h"

namespace egret::backends {
namespace {

// Threads that are not joined yet keep their stacks, so all of them exist at once.
bool grants_threads(int count) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  bool granted = true;
  try {
    for (int i = 0; i < count; ++i) threads.emplace_back([] {});
  } catch (const std::exception& thrown) {
    if (!base::is_lack_of_memory(thrown)) throw;
    granted = false;
  }
  for (std::thread& thread : threads) thread.join();
  return granted;
}

}  // namespace

// Other threads first: where the system refuses them, that can be reported. Their stacks go to the
// team's threads, which start at once.
void ensure_team(int threads) {
  thread_local int made = 1;
  if (threads <= made) return;
  if (!grants_threads(threads - 1)) throw std::bad_alloc();
  std::atomic<int> started = 0;
#pragma omp parallel num_threads(threads)
  started.fetch_add(1, std::memory_order_relaxed);
  made = threads;
}

}  // namespace egret::backends
