// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <limits>

namespace egret::base {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

TEST(Random, NumbersLieBetweenTheirBounds) {
  Random random(7);
  bool negative = false, positive = false, least = false, most = false;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t small = random.between(-2, 3);
    EXPECT_GE(small, -2);
    EXPECT_LE(small, 3);
    least |= small == -2;
    most |= small == 3;
    const std::int64_t any = random.between(Limits::min() + 1, Limits::max());
    negative |= any < 0;
    positive |= any > 0;
  }
  EXPECT_TRUE(negative && positive && least && most);
  EXPECT_EQ(random.between(Limits::min(), Limits::min()), Limits::min());
}

}  // namespace
}  // namespace egret::base
