// SPDX-License-Identifier: Apache-2.0
#include "egraph/core/view_statistics.h"

#include <gtest/gtest.h>

#include "egraph/search/syntax.h"

namespace egret::egraph {
namespace {

TEST(ViewStatistics, CountWhatIsThere) {
  OpTable ops;
  const Syntax syntax(ops);
  EGraph egraph(ops);
  const ClassId root = *syntax.add_term(egraph, "(+ a (* b b))");
  ASSERT_TRUE(egraph.merge(root, *syntax.add_term(egraph, "(+ c a)")).ok());
  ASSERT_TRUE(syntax.add_term(egraph, "(alone c)").ok());
  // b = (* b b): a class that contains itself.
  ASSERT_TRUE(
      egraph.merge(*syntax.add_term(egraph, "b"), *syntax.add_term(egraph, "(* b b)")).ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  const ClassId roots[] = {root};
  const ViewStatistics s = statistics(make_view(egraph, roots), ops);
  EXPECT_EQ(s.nodes, 7U);
  EXPECT_EQ(s.classes, 5U);
  EXPECT_EQ(s.children, 7U);
  EXPECT_EQ(s.leaves, 3U);
  EXPECT_EQ(s.largest_class, 2U);
  EXPECT_EQ(s.largest_arity, 2U);
  EXPECT_EQ(s.cyclic_classes, 1U);
  EXPECT_EQ(s.reachable_classes, 4U);
  EXPECT_EQ(s.reachable_nodes, 6U);
  EXPECT_DOUBLE_EQ(s.log2_choices, 2);
  ASSERT_EQ(s.operators.size(), 6U);
  EXPECT_EQ(s.operators[0].text, "+");
  EXPECT_EQ(s.operators[0].nodes, 2U);
  EXPECT_EQ(s.operators[1].text, "*");
}

// f and g of each other, and one that only points into the cycle.
TEST(ViewStatistics, CyclesThroughSeveralClassesAreFound) {
  OpTable ops;
  const Syntax syntax(ops);
  EGraph egraph(ops);
  const ClassId a = *syntax.add_term(egraph, "a");
  ASSERT_TRUE(egraph.merge(a, *syntax.add_term(egraph, "(f (g a))")).ok());
  ASSERT_TRUE(syntax.add_term(egraph, "(h a)").ok());
  ASSERT_TRUE(egraph.rebuild().ok());
  EXPECT_EQ(statistics(make_view(egraph), ops).cyclic_classes, 2U);
}

TEST(ViewStatistics, OfNothingAreZero) {
  OpTable ops;
  EGraph egraph(ops);
  const ViewStatistics s = statistics(make_view(egraph), ops);
  EXPECT_EQ(s.nodes, 0U);
  EXPECT_EQ(s.cyclic_classes, 0U);
  EXPECT_TRUE(s.operators.empty());
}

}  // namespace
}  // namespace egret::egraph
