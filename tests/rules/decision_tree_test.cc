// SPDX-License-Identifier: Apache-2.0
#include "rules/proving/decision_tree.h"

#include <gtest/gtest.h>

#include <vector>

namespace egret::rules {
namespace {

using Path = std::vector<ir::Decision>;

class DecisionTreeTest : public testing::Test {
 protected:
  // The path of code that asks whether x > 3, and if so for the value of y.
  static Path path_of(std::int64_t x, std::int64_t y) {
    ir::SymbolicScope scope;
    const ir::Index first = scope.symbol("x", x);
    const ir::Index second = scope.symbol("y", y);
    if (scope.decide(first > 3)) scope.concretize(second);
    return scope.decisions();
  }
  bool add(std::int64_t x, std::int64_t y) {
    return tree_.add(path_of(x, y), {{"x", x}, {"y", y}});
  }
  static bool holds(const DecisionTree::Branch& branch, std::int64_t x, std::int64_t y) {
    for (const ir::Guard& guard : branch.guards) {
      if (ir::evaluate(guard, {{"x", x}, {"y", y}}) != std::optional(true)) return false;
    }
    return true;
  }

  DecisionTree tree_;
};

TEST_F(DecisionTreeTest, OpensTheOtherOutcomeOfEachDecision) {
  EXPECT_TRUE(add(1, 1));
  const auto branch = tree_.open_branch();
  ASSERT_TRUE(branch);
  EXPECT_TRUE(holds(*branch, 4, 1));
  EXPECT_FALSE(holds(*branch, 3, 1));
  EXPECT_EQ(branch->near->at("x"), 1);
}

TEST_F(DecisionTreeTest, OpensAllFurtherValues) {
  EXPECT_TRUE(add(1, 1));
  EXPECT_TRUE(add(4, 2));
  EXPECT_TRUE(add(4, 3));
  const auto branch = tree_.open_branch();
  ASSERT_TRUE(branch);
  EXPECT_TRUE(holds(*branch, 5, 4));
  EXPECT_FALSE(holds(*branch, 5, 2));
  EXPECT_FALSE(holds(*branch, 5, 3));
  tree_.close(branch->node);
  EXPECT_FALSE(tree_.open_branch());
  EXPECT_EQ(tree_.leaves(), 3U);
}

TEST_F(DecisionTreeTest, KnowsItsGaps) {
  EXPECT_TRUE(add(1, 1));
  tree_.give_up(tree_.open_branch()->node);
  EXPECT_FALSE(tree_.open_branch());
  ASSERT_EQ(tree_.gaps().size(), 1U);
  EXPECT_EQ(ir::evaluate(tree_.gaps()[0].back(), {{"x", 4}, {"y", 1}}), std::optional(true));
}

// A path that asks something else where another run went on: decisions do not determine it.
TEST_F(DecisionTreeTest, RefusesPathsThatDecisionsDoNotDetermine) {
  EXPECT_TRUE(add(1, 1));
  ir::SymbolicScope scope;
  const ir::Index y = scope.symbol("y", 1);
  scope.decide(y > 3);
  EXPECT_FALSE(tree_.add(scope.decisions(), {{"x", 1}, {"y", 1}}));
  EXPECT_EQ(tree_.leaves(), 1U);
}

}  // namespace
}  // namespace egret::rules
