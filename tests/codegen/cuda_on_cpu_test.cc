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

TEST(CudaOnCpu, ShufflesWithinABlock) {
  std::vector<int> sums(64);
  EXPECT_TRUE(launch(1, 64, [&] {
    int sum = static_cast<int>(threadIdx.x);
    for (int mask = 32; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, mask);
    sums[threadIdx.x] = sum;
  }));
  EXPECT_EQ(sums, std::vector<int>(64, 63 * 64 / 2));
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

}  // namespace
