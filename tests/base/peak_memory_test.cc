// SPDX-License-Identifier: Apache-2.0
#include "base/system/peak_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace egret::base {
namespace {

TEST(PeakMemory, GrowsWithWhatIsUsedAndStays) {
  constexpr std::int64_t kBytes = 64 << 20;
  const std::int64_t before = peak_memory_bytes();
  ASSERT_GT(before, 100'000);
  {
    std::vector<char> block(kBytes);
    std::ranges::fill(block, 'x');
    EXPECT_EQ(std::ranges::count(block, 'x'), kBytes);
  }
  const std::int64_t after = peak_memory_bytes();
  EXPECT_GT(after, kBytes);
  EXPECT_GE(peak_memory_bytes(), after);
}

TEST(PeakMemory, WhatIsResidentComesAndGoes) {
  constexpr std::int64_t kBytes = 64 << 20;
  const std::int64_t before = resident_memory_bytes();
  ASSERT_GT(before, 100'000);
  EXPECT_LE(before, peak_memory_bytes());
  void* const block =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  std::memset(block, 'x', kBytes);
  EXPECT_GE(resident_memory_bytes(), before + kBytes / 2);
  ASSERT_EQ(::munmap(block, kBytes), 0);
  EXPECT_LT(resident_memory_bytes(), before + kBytes / 2);
}

}  // namespace
}  // namespace egret::base
