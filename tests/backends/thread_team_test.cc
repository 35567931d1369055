// SPDX-License-Identifier: Apache-2.0
#include "backends/thread_team.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <new>

#include "tests/address_space.h"

namespace egret::backends {
namespace {

TEST(ThreadTeam, HasTheThreadsThatWereAskedFor) {
  ensure_team(3);
  int threads = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
  threads = omp_get_num_threads();
  EXPECT_EQ(threads, 3);
}

#ifdef EGRET_LIMITS_ADDRESS_SPACE

// libgomp would end the program, with exit code 1.
TEST(ThreadTeam, ThrowsWhereTheSystemGrantsNoThreads) {
  const auto scenario = [] {
    limit_address_space(std::size_t{100} << 20);
    try {
      ensure_team(200);  // their stacks take 8 MiB each
    } catch (const std::bad_alloc&) {
      ensure_team(2);
      ::_exit(0);
    }
    ::_exit(1);
  };
  EXPECT_EXIT(scenario(), testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace egret::backends
