// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

namespace egret::runtime {
namespace {

// What follows is in the process that works.
void begin_as_rank_1_of_2() {
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  runtime::watch_rank([](const std::string& message) { std::cerr << message << std::endl; });
}

TEST(RankWatch, NamesARankThatASignalEnds) {
  EXPECT_EXIT(
      {
        begin_as_rank_1_of_2();
        std::raise(SIGKILL);
      },
      testing::ExitedWithCode(8), "rank 1 \\(process [0-9]+\\) was ended by signal 9");
}

TEST(RankWatch, NamesARankThatIsStopped) {
  EXPECT_EXIT(
      {
        begin_as_rank_1_of_2();
        const pid_t worker = ::getpid();
        if (::fork() == 0) {
          ::usleep(300'000);
          ::kill(worker, SIGCONT);
          std::_Exit(0);
        }
        std::raise(SIGSTOP);
        std::_Exit(5);
      },
      testing::ExitedWithCode(5), "rank 1 \\(process [0-9]+\\) is stopped; others wait for it");
}

TEST(RankWatch, PassesOnWhatAsksTheRankToEnd) {
  EXPECT_EXIT(
      {
        begin_as_rank_1_of_2();
        ::kill(::getppid(), SIGTERM);
        while (true) ::pause();
      },
      testing::ExitedWithCode(128 + SIGTERM), "");
}

TEST(RankWatch, EndsAsTheRankEnds) {
  EXPECT_EXIT(
      {
        begin_as_rank_1_of_2();
        std::_Exit(6);
      },
      testing::ExitedWithCode(6), "");
}

// A process that mpirun did not start is one.
TEST(RankWatch, LeavesOtherProcessesAlone) {
  const pid_t before = ::getpid();
  runtime::watch_rank([](const std::string& message) { std::cerr << message << std::endl; });
  EXPECT_EQ(::getpid(), before);
}

}  // namespace
}  // namespace egret::runtime
