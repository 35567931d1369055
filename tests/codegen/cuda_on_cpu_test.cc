// SPDX-License-Identifier: Apache-2.0
// Blocks of threads on a CPU: all of a block meet, or the launch fails.
#include "tests/codegen/cuda_on_cpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

TEST(CudaOnCpu, RunsEveryThreadOfEveryBlockOnce) {
  std::vector<int> runs(3 * 64, 0);
  for (const bool meets : {false, true}) {
    std::ranges::fill(runs, 0);
    EXPECT_TRUE(launch(3, 64, [&] {
      if (meets) __syncthreads();
      ++runs[blockIdx.x * blockDim.x + threadIdx.x];
    }));
    EXPECT_EQ(runs, std::vector<int>(runs.size(), 1)) << meets;
  }
}

TEST(CudaOnCpu, ShufflesWithinAWarp) {
  std::vector<int> sums(64);
  EXPECT_TRUE(launch(1, 64, [&] {
    int sum = static_cast<int>(threadIdx.x);
    for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    sums[threadIdx.x] = sum;
  }));
  std::vector<int> expected(32, 31 * 32 / 2);
  expected.resize(64, 31 * 32 / 2 + 32 * 32);
  EXPECT_EQ(sums, expected);
}

TEST(CudaOnCpu, FailsWhereOnlySomeThreadsMeet) {
  for (const unsigned odd : {0u, 1u, 63u}) {
    const auto one_meets = [&] {
      if (threadIdx.x == odd) __syncthreads();
    };
    const auto one_does_not = [&] {
      if (threadIdx.x != odd) __syncthreads();
    };
    const auto one_leaves_early = [&] {
      __syncthreads();
      if (threadIdx.x != odd) __syncthreads();
    };
    EXPECT_FALSE(launch(1, 64, one_meets)) << odd;
    EXPECT_FALSE(launch(1, 64, one_does_not)) << odd;
    EXPECT_FALSE(launch(1, 64, one_leaves_early)) << odd;
  }
  EXPECT_TRUE(launch(2, 1, [] { __syncthreads(); }));
}

// The first thread's number, as the others read it after meeting, or without.
std::vector<unsigned> numbers_read(WarpOrder order, bool meets) {
  unsigned shared = 0;
  std::vector<unsigned> read(96);
  const bool done = launch(
      1, 96,
      [&] {
        if (threadIdx.x == 0) shared = 7;
        (void)__shfl_xor_sync(0xffffffffu, 0, 1);
        if (meets) __syncthreads();
        read[threadIdx.x] = shared;
      },
      order);
  EXPECT_TRUE(done);
  return read;
}

TEST(CudaOnCpu, ShowsWhatWarpsReadWithoutMeeting) {
  const auto read = [](bool meets) {
    return numbers_read(WarpOrder::kFirstToLast, meets) ==
           numbers_read(WarpOrder::kLastToFirst, meets);
  };
  EXPECT_TRUE(read(true));
  EXPECT_FALSE(read(false));
}

}  // namespace
