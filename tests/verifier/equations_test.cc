// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/equations.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace egret::verifier {
namespace {

class EquationsTest : public testing::Test {
 protected:
  AtomId symbol(const char* name) { return atoms_.symbol(name); }
  Polynomial value(const Solved& solved, AtomId of) {
    return atoms_.substitute(Polynomial(of), solved.solution);
  }

  AtomTable atoms_;
  AtomId a_ = symbol("a"), b_ = symbol("b"), c_ = symbol("c");
  Polynomial a{a_}, b{b_}, c{c_};
};

TEST_F(EquationsTest, MakeEqualSizesOneSize) {
  const Solved solved = solve_equations(atoms_, {equal(a, b), equal(b, c), less_equal(1, c)});
  EXPECT_EQ(value(solved, a_), value(solved, b_));
  EXPECT_EQ(value(solved, b_), value(solved, c_));
  EXPECT_EQ(solved.facts.size(), 1U);
}

TEST_F(EquationsTest, CancelWhatIsPositive) {
  // a*b*c = a: b and c are 1.
  const Solved solved = solve_equations(
      atoms_, {equal(a * b * c, a), less_equal(1, a), less_equal(1, b), less_equal(1, c)});
  EXPECT_EQ(value(solved, b_), Polynomial(1));
  EXPECT_EQ(value(solved, c_), Polynomial(1));
  EXPECT_EQ(value(solved, a_), a);
}

TEST_F(EquationsTest, DoNotCancelWhatMayBeZero) {
  const Solved solved = solve_equations(
      atoms_, {equal(a * b * c, a), less_equal(0, a), less_equal(1, b), less_equal(1, c)});
  EXPECT_EQ(value(solved, b_), b);
}

TEST_F(EquationsTest, KnowThatASumOfNothingNegativeHasNoParts) {
  const Solved solved =
      solve_equations(atoms_, {equal(a + b, 0), less_equal(0, a), less_equal(0, b)});
  EXPECT_EQ(value(solved, a_), Polynomial(0));
  EXPECT_EQ(value(solved, b_), Polynomial(0));
}

TEST_F(EquationsTest, JoinBoundsThatMeet) {
  const Solved solved = solve_equations(atoms_, {less_equal(a, 3), less_equal(3, a)});
  EXPECT_EQ(value(solved, a_), Polynomial(3));
}

// If b divides a, then a is a multiple of b, and every quotient of a by b is the other factor.
TEST_F(EquationsTest, MakeAMultipleAProduct) {
  const Solved solved = solve_equations(
      atoms_, {equal(atoms_.remainder(a, b), 0), less_equal(1, a), less_equal(1, b)});
  const Polynomial q = solved.apply(atoms_, atoms_.quotient(a, b));
  EXPECT_TRUE(q.as_atom().valid());
  EXPECT_EQ(solved.apply(atoms_, a), b * q);
  EXPECT_EQ(solved.apply(atoms_, atoms_.remainder(a, b)), Polynomial(0));
}

// a divides b * c. As a rule from b * c to a * (b*c div a), rewriting would not end.
TEST_F(EquationsTest, DoNotRewriteAProductIntoItsOwnQuotient) {
  const Polynomial q = atoms_.quotient(b * c, a);
  const Solved solved =
      solve_equations(atoms_, {equal(b * c, a * q), less_equal(1, a), less_equal(1, b),
                               less_equal(1, c), less_equal(q, b * c)});
  for (const Literal& fact : solved.facts) EXPECT_NE(obvious(fact), Truth::kFalse);
}

TEST_F(EquationsTest, NameAQuotientAndKeepWhatItIs) {
  const Polynomial q = atoms_.quotient(a, b);
  const Solved solved = solve_equations(atoms_, {equal(c, q + 1), less_equal(1, b)});
  EXPECT_EQ(atoms_.substitute(q, solved.solution), c - 1);
  EXPECT_NE(std::ranges::find(solved.facts, less_equal(b * (c - 1), a)), solved.facts.end());
}

}  // namespace
}  // namespace egret::verifier
