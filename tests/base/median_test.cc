// SPDX-License-Identifier: Apache-2.0
#include "base/median.h"

#include <gtest/gtest.h>

namespace egret::base {
namespace {

TEST(Median, IsTheMiddleOfSortedSamples) {
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({4, 1, 3, 2}), 3);  // the larger of 2 and 3
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace egret::base
