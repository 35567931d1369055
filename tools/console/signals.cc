// SPDX-License-Identifier: Apache-2.0
#include "tools/console/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "base/stop.h"

namespace egret::tools {
namespace {

// Both functions call only what POSIX lists as async-signal-safe.
std::int64_t milliseconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1000} + now.tv_nsec / 1'000'000;
}

// timeout(1) and mpirun signal their child and then its process group, so one request may arrive
// twice; a person needs longer for a second one.
constexpr std::int64_t kSameRequestMilliseconds = 250;
std::atomic<std::int64_t> first_request{0};
static_assert(std::atomic<std::int64_t>::is_always_lock_free, "written by the signal handler");

extern "C" void on_stop_signal(int signal) {
  const std::int64_t now = milliseconds_now();
  if (!base::stop_requested()) {
    first_request = now;
    base::request_stop(signal);
  } else if (now - first_request > kSameRequestMilliseconds) {
    ::_exit(128 + signal);
  }
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a blocked read of standard input ends and the loop around it sees the request.
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    // A shell starts background jobs with SIGINT ignored; that choice stays.
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

int exit_code_after_signals(int code) {
  return base::stop_requested() ? 128 + base::stop_signal() : code;
}

}  // namespace egret::tools
