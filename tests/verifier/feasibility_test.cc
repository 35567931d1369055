// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/feasibility.h"

#include <gtest/gtest.h>

#include <vector>

namespace egret::verifier {
namespace {

using ir::Guard;
using ir::Index;
using Outcome = Feasibility::Outcome;

class FeasibilityTest : public testing::Test {
 protected:
  Feasibility::Result find(const std::vector<Guard>& guards) {
    return feasibility_.find(guards, {{"a", 1}, {"b", 1}, {"c", 0}},
                             {{"a", 1}, {"b", 1}, {"c", 0}});
  }
  void expect_numbers(const std::vector<Guard>& guards) {
    const Feasibility::Result found = find(guards);
    ASSERT_EQ(found.outcome, Outcome::kNumbers);
    for (const Guard& guard : guards)
      EXPECT_EQ(ir::evaluate(guard, found.numbers), std::optional(true)) << ir::to_string(guard);
    EXPECT_GE(found.numbers.at("a"), 1);
    EXPECT_GE(found.numbers.at("c"), 0);
  }
  void expect_none(const std::vector<Guard>& guards) {
    EXPECT_EQ(find(guards).outcome, Outcome::kNone);
  }

  SolverSession session_;
  Feasibility feasibility_{session_};
  Index a = ir::symbolic_dim("a"), b = ir::symbolic_dim("b"), c = ir::symbolic_dim("c");
};

TEST_F(FeasibilityTest, FindsLargeNumbers) {
  expect_numbers({a > 1000000});
  expect_numbers({a == b + 123456, c == a * 2});
}

TEST_F(FeasibilityTest, FindsProductsQuotientsAndRemainders) {
  expect_numbers({a * b == 391, a > 1, b > a});  // 17 and 23
  expect_numbers({ir::mod(a, 64) == 63, a > 640});
  expect_numbers({ir::div(a, b + 1) > 500});
  expect_numbers({ir::min(a, b) == 9, ir::max(a, b) == 40});
}

TEST_F(FeasibilityTest, KnowsThatThereAreNone) {
  expect_none({a > b, b > a});
  expect_none({a * b == 1, a > 1});
  expect_none({ir::mod(a, 4) == 1, ir::mod(a, 2) == 0});
  expect_none({ir::div(a, b) == c, b > a, c > 0});
  expect_none({c + 1 <= 0});
}

// Whatever the solver does within so little work, it says nothing that is wrong.
TEST_F(FeasibilityTest, SaysWhenItDoesNotKnow) {
  Feasibility hurried(session_, {.rlimit = 1});
  const std::vector<Guard> guards{a * a * a + b * b * b == c * c * c, c > 0};
  EXPECT_EQ(
      hurried.find(guards, {{"a", 1}, {"b", 1}, {"c", 0}}, {{"a", 1}, {"b", 1}, {"c", 0}}).outcome,
      Outcome::kUnknown);
}

}  // namespace
}  // namespace egret::verifier
