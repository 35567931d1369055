// SPDX-License-Identifier: Apache-2.0
// The process-wide request to stop, set by a program's signal handler and polled by every long
// loop (one relaxed load). A loop that sees it ends as at a time limit: the best valid result so
// far, all files intact. One of the few documented pieces of global state: signals are global.
#pragma once

#include <atomic>

namespace egret::base {

namespace detail {
inline std::atomic<int> stop_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "written by signal handlers");
}  // namespace detail

inline bool stop_requested() { return detail::stop_signal.load(std::memory_order_relaxed) != 0; }
// The signal that asked (SIGINT, SIGTERM), or 0.
inline int stop_signal() { return detail::stop_signal.load(std::memory_order_relaxed); }
// Async-signal-safe. The first request stays; 0 withdraws it (tests).
inline void request_stop(int signal) {
  int none = 0;
  if (signal == 0) {
    detail::stop_signal.store(0, std::memory_order_relaxed);
  } else {
    detail::stop_signal.compare_exchange_strong(none, signal, std::memory_order_relaxed);
  }
}

}  // namespace egret::base
