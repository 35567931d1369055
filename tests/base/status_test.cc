// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <gtest/gtest.h>

namespace egret::base {
namespace {

Result<int> half(int x) {
  if (x % 2 != 0) return bad_input("odd");
  return x / 2;
}

Result<int> quarter(int x) {
  EGRET_ASSIGN_OR_RETURN(const int h, half(x));
  return half(h);
}

TEST(Status, ExitCodesAreThoseOfTheInterface) {
  EXPECT_EQ(exit_code(StatusCode::kOk), 0);
  EXPECT_EQ(exit_code(StatusCode::kBadInput), 3);
  EXPECT_EQ(exit_code(StatusCode::kUnsupported), 4);
  EXPECT_EQ(exit_code(StatusCode::kMismatch), 6);
  EXPECT_EQ(exit_code(StatusCode::kRankFailed), 8);
}

TEST(Status, PlaceIsPutBeforeTheMessage) {
  EXPECT_EQ(bad_input("odd").at("node 'x'").message(), "node 'x': odd");
  EXPECT_TRUE(ok().at("nowhere").ok());
}

TEST(Result, PropagatesValuesAndFailures) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(6).status().message(), "odd");
}

TEST(Check, ReportsOwnBugsWithTheirPlace) {
  try {
    EGRET_CHECK(1 + 1 == 3, "arithmetic");
    FAIL();
  } catch (const CheckFailure& failure) {
    EXPECT_EQ(failure.condition, "1 + 1 == 3");
    EXPECT_EQ(failure.message, "arithmetic");
  }
}

}  // namespace
}  // namespace egret::base
