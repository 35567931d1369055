// SPDX-License-Identifier: Apache-2.0
#include "base/system/shell_command.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "base/stop.h"
#include "base/timer.h"

namespace egret::base {
namespace {

TEST(ShellCommand, GivesTheExitCodeOrTheSignal) {
  EXPECT_EQ(run_command("true", 10).value(), 0);
  EXPECT_EQ(run_command("echo lost; exit 6", 10).value(), 6);
  EXPECT_EQ(run_command("kill -ABRT $$", 10).value(), 128 + SIGABRT);
  EXPECT_EQ(run_command("test -z \"$(cat)\"", 10).value(), 0);  // no input
  EXPECT_EQ(run_command("/no/such/program", 10).value(), 127);
}

TEST(ShellCommand, IsKilledWithItsChildrenAfterTheLimit) {
  const Stopwatch watch;
  const auto code = run_command("sleep 100 & sleep 100", 0.2);
  EXPECT_EQ(code.status().code(), StatusCode::kLimit);
  EXPECT_LT(watch.seconds(), 10);
}

TEST(ShellCommand, EndsWhenAStopIsRequested) {
  const Stopwatch watch;
  std::thread asker([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    request_stop(SIGINT);
  });
  const auto code = run_command("sleep 100", 60);
  asker.join();
  request_stop(0);
  EXPECT_EQ(code.status().code(), StatusCode::kLimit);
  EXPECT_LT(watch.seconds(), 10);
}

TEST(ShellCommand, QuotedTextIsOneWord) {
  EXPECT_EQ(shell_quoted("a b"), "'a b'");
  EXPECT_EQ(
      run_command("test " + shell_quoted("it's $HOME \"x\"") + " = 'it'\\''s $HOME \"x\"'", 10)
          .value(),
      0);
}

}  // namespace
}  // namespace egret::base
