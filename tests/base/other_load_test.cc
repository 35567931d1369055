// SPDX-License-Identifier: Apache-2.0
#include "base/system/other_load.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>

namespace egret::base {
namespace {

void pass(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

TEST(OtherLoad, NeedsAWindow) {
  OtherLoad load;
  EXPECT_FALSE(load.sample().has_value());
  pass(OtherLoad::kLeastSeconds);
  const auto others = load.sample();
  ASSERT_TRUE(others.has_value());
  EXPECT_GE(*others, 0);
}

// Over a window of many ticks: the kernel counts whole ones, and a short window may hold one more.
TEST(OtherLoad, IsAtMostAllProcessors) {
  OtherLoad load;
  pass(20 * OtherLoad::kLeastSeconds);
  const auto others = load.sample();
  ASSERT_TRUE(others.has_value());
  EXPECT_LE(*others, std::thread::hardware_concurrency() + 0.5);
}

// A child that computes is another process, and takes a good part of a processor however busy the
// machine is. This process only waits.
TEST(OtherLoad, CountsOtherProcesses) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (volatile unsigned i = 0;;) i = i + 1;
  }
  OtherLoad load;
  pass(0.5);
  const auto others = load.sample();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(others.has_value());
  EXPECT_GE(*others, 0.3);
}

// What this process computes is not others' work: with all of its time, others have the rest of the
// processors at most.
TEST(OtherLoad, LeavesOutThisProcess) {
  OtherLoad load;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t before = std::clock();
  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500)) continue;
  const double own = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC / 0.5;
  const auto others = load.sample();
  ASSERT_TRUE(others.has_value());
  EXPECT_LE(*others, std::thread::hardware_concurrency() - own + 0.25);
}

}  // namespace
}  // namespace egret::base
