// SPDX-License-Identifier: Apache-2.0
#include "rules/testing/guard_solver.h"

#include <gtest/gtest.h>

#include <vector>

#include "ir/core/symbolic_scope.h"
#include "ir/core/tensor_type.h"

namespace egret::rules {
namespace {

using ir::Guard;
using ir::Index;

class GuardSolver : public ::testing::Test {
 protected:
  const Index size_ = ir::symbolic_dim("?x.0");
  const Index start_ = ir::symbolic_dim("0.start");
  const Index length_ = ir::symbolic_dim("0.size");
};

TEST_F(GuardSolver, ChangesSeveralNumbersWhereOneDoesNotDo) {
  const std::vector<Guard> guards{length_ >= Index(1), start_ + length_ <= size_, length_ == size_};
  const auto numbers =
      solve_near(guards, {{"?x.0", 4}, {"0.start", 1}, {"0.size", 2}}, base::Random(1));
  ASSERT_TRUE(numbers);
  for (const Guard& guard : guards)
    EXPECT_EQ(ir::evaluate(guard, *numbers), std::optional(true)) << ir::to_string(guard);
}

TEST_F(GuardSolver, KeepsNumbersThatAreRight) {
  const auto numbers =
      solve_near(std::vector<Guard>{size_ == Index(3)}, {{"?x.0", 3}}, base::Random(1));
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->at("?x.0"), 3);
}

TEST_F(GuardSolver, KnowsThatSizesAreAtLeastOne) {
  EXPECT_FALSE(solve_near(std::vector<Guard>{size_ == Index(0)}, {{"?x.0", 3}}, base::Random(1)));
  EXPECT_TRUE(
      solve_near(std::vector<Guard>{start_ == Index(0)}, {{"0.start", 3}}, base::Random(1)));
}

TEST_F(GuardSolver, FindsNothingForWhatCannotBe) {
  const std::vector<Guard> guards{size_ <= start_, start_ <= length_, !(size_ <= length_)};
  EXPECT_FALSE(solve_near(guards, {{"?x.0", 4}, {"0.start", 1}, {"0.size", 2}}, base::Random(1)));
}

}  // namespace
}  // namespace egret::rules
