// SPDX-License-Identifier: Apache-2.0
#include "tools/console/signals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/stop.h"

namespace egret::tools {
namespace {

TEST(Signals, ASignalAsksForAStopAndDecidesTheExitCode) {
  EXPECT_EQ(exit_code_after_signals(5), 5);
  install_signal_handlers();
  std::raise(SIGTERM);
  EXPECT_TRUE(base::stop_requested());
  EXPECT_EQ(exit_code_after_signals(5), 143);
  base::request_stop(0);
  std::raise(SIGINT);
  EXPECT_EQ(exit_code_after_signals(0), 130);
  base::request_stop(0);
}

TEST(Signals, ALaterSignalEndsTheProgramAtOnce) {
  EXPECT_EXIT(
      {
        install_signal_handlers();
        std::raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        std::raise(SIGTERM);
        std::exit(0);
      },
      testing::ExitedWithCode(143), "");
}

// timeout(1) signals its child and then the group of processes that the child belongs to.
TEST(Signals, OneRequestMayArriveTwice) {
  EXPECT_EXIT(
      {
        install_signal_handlers();
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::_Exit(0);  // a forked process has no threads that destructors could join
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace egret::tools
