// SPDX-License-Identifier: Apache-2.0
#include "base/peak_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
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

}  // namespace
}  // namespace egret::base
