// SPDX-License-Identifier: Apache-2.0
#include "tools/console/signals.h"

#include <unistd.h>

#include <csignal>

#include "base/stop.h"

namespace egret::tools {
namespace {

extern "C" void on_stop_signal(int signal) {
  if (base::stop_requested()) ::_exit(128 + signal);
  base::request_stop(signal);
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
