// SPDX-License-Identifier: Apache-2.0
#include "egraph/search/goals.h"

#include <gtest/gtest.h>

#include "egraph/search/matcher.h"
#include "egraph/search/runner.h"
#include "tests/egraph/slow_matcher.h"

namespace egret::egraph {
namespace {

class GoalsTest : public ::testing::Test {
 protected:
  OpTable ops_;
  Syntax syntax_{ops_};
  EGraph egraph_{ops_};
};

TEST_F(GoalsTest, AreFoundInTheirClassOnly) {
  const ClassId sum = *syntax_.add_term(egraph_, "(+ a (* b c))");
  const ClassId product = *syntax_.add_term(egraph_, "(* b c)");
  ASSERT_TRUE(egraph_.rebuild().ok());
  Goals goals = *Goals::parse(syntax_, {"(+ a ?x)", "(* ?x ?x)", "?x"});
  EXPECT_FALSE(goals.reached(egraph_, sum));
  EXPECT_EQ(goals.found(), 2U);
  EXPECT_EQ(goals.missing(), std::vector<std::string>{"(* ?x ?x)"});
  ASSERT_TRUE(egraph_.merge(*syntax_.add_term(egraph_, "b"), *syntax_.add_term(egraph_, "c")).ok());
  ASSERT_TRUE(egraph_.rebuild().ok());
  EXPECT_TRUE(goals.reached(egraph_, product));
  EXPECT_FALSE(Goals::parse(syntax_, {"(+ a"}).ok());
}

// The class holds f(a, g(b)) and f(b, g(a)), later f(b, g(b)): backtracking must undo its bindings.
TEST_F(GoalsTest, BacktrackThroughRepeatedVariables) {
  const ClassId first = *syntax_.add_term(egraph_, "(f a (g b))");
  const ClassId second = *syntax_.add_term(egraph_, "(f b (g a))");
  ASSERT_TRUE(egraph_.merge(first, second).ok());
  ASSERT_TRUE(egraph_.rebuild().ok());
  EXPECT_FALSE(Goals::parse(syntax_, {"(f ?x (g ?x))"})->reached(egraph_, first));
  ASSERT_TRUE(egraph_.merge(first, *syntax_.add_term(egraph_, "(f b (g b))")).ok());
  ASSERT_TRUE(egraph_.rebuild().ok());
  EXPECT_TRUE(Goals::parse(syntax_, {"(f ?x (g ?x))"})->reached(egraph_, first));
  for (const std::string_view text : {"(f ?x (g ?x))", "(f a ?x)", "(f ?x (g a))", "(g ?x)", "a"}) {
    const Pattern pattern = *syntax_.pattern(text);
    const VarId root = pattern.atoms().back().result;
    for (const ClassId id : egraph_.classes()) {
      bool expected = false;
      for (const auto& row : SlowMatcher(egraph_, pattern).run()) {
        expected = expected || row.first[root.index()] == id;
      }
      EXPECT_EQ(matches_in_class(egraph_, pattern, id), expected) << text << " " << id.index();
    }
  }
}

TEST_F(GoalsTest, EndARunAsAHook) {
  const auto rules = *syntax_.rules("grow: (s ?x) => (s (s ?x))");
  const ClassId root = *syntax_.add_term(egraph_, "(s z)");
  Goals goals = *Goals::parse(syntax_, {"(s (s (s z)))"});
  Runner runner(egraph_, rules);
  runner.hooks().before_iteration = [&](EGraph& egraph, const RunReport&) {
    return !goals.reached(egraph, root);
  };
  const RunReport report = runner.run();
  EXPECT_EQ(report.stop, StopReason::kHook);
  EXPECT_EQ(report.iterations.size(), 1U);
}

}  // namespace
}  // namespace egret::egraph
