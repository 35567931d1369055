// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/index_solver.h"

#include <gtest/gtest.h>

#include "verifier/index/small_certificate.h"

namespace egret::verifier {
namespace {

class IndexSolverTest : public testing::Test {
 protected:
  Polynomial symbol(const char* name) { return Polynomial(atoms_.symbol(name)); }
  static Facts joined(Facts a, const Facts& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  // 0 <= i < n
  static Facts within(const Polynomial& i, const Polynomial& n) {
    return {at_least_zero(i), less(i, n)};
  }

  AtomTable atoms_;
  SolverSession session_{{.keep_queries = true}};
  IndexSolver solver_{atoms_, session_, {}};
};

TEST_F(IndexSolverTest, TakesMultiplesOutOfAQuotient) {
  const Polynomial n = symbol("n");
  const Polynomial q = symbol("q");
  const Polynomial r = symbol("r");
  EXPECT_EQ(atoms_.quotient(q * n + r, n), q + atoms_.quotient(r, n));
  EXPECT_EQ(atoms_.quotient(6 * q + 7, 3), 2 * q + 2 + atoms_.quotient(1, 3));
  EXPECT_EQ(atoms_.quotient(-7, 2), Polynomial(-4));
  EXPECT_EQ(atoms_.remainder(-7, 2), Polynomial(1));
}

TEST_F(IndexSolverTest, KnowsThatADigitIsBelowItsRadix) {
  const Polynomial n = symbol("n");
  const Polynomial i = symbol("i");
  const Facts facts{less_equal(1, n), at_least_zero(i)};
  EXPECT_TRUE(solver_.implies(facts, at_least_zero(atoms_.remainder(i, n))));
  EXPECT_TRUE(solver_.implies(facts, less(atoms_.remainder(i, n), n)));
  EXPECT_FALSE(solver_.implies(facts, less(atoms_.remainder(i, n), n - 1)));
}

TEST_F(IndexSolverTest, BoundsAPairOfDigits) {
  const Polynomial m = symbol("m");
  const Polynomial n = symbol("n");
  const Polynomial i = symbol("i");
  const Polynomial j = symbol("j");
  const Facts facts =
      joined(joined(within(i, m), within(j, n)), {less_equal(1, m), less_equal(1, n)});
  EXPECT_TRUE(solver_.implies(facts, less(i * n + j, m * n)));
  EXPECT_FALSE(solver_.implies(facts, less(i * n + j, m * n - 1)));
}

TEST_F(IndexSolverTest, BoundsTheDigitsOfANumber) {
  const Polynomial m = symbol("m");
  const Polynomial n = symbol("n");
  const Polynomial k = symbol("k");
  const Facts facts = joined(within(k, m * n), {less_equal(1, m), less_equal(1, n)});
  EXPECT_TRUE(solver_.implies(facts, less(atoms_.quotient(k, n), m)));
  EXPECT_TRUE(solver_.implies(facts, at_least_zero(atoms_.quotient(k, n))));
}

TEST_F(IndexSolverTest, RelatesAWindowsPlaceAndItsNumber) {
  // The last of div(room, s) + 1 windows begins at most `room` from the first.
  const Polynomial room = symbol("room");
  const Polynomial s = symbol("s");
  const Polynomial i = symbol("i");
  const Facts facts =
      joined(within(i, atoms_.quotient(room, s) + 1), {less_equal(1, s), at_least_zero(room)});
  EXPECT_TRUE(solver_.implies(facts, less_equal(i * s, room)));
  EXPECT_FALSE(solver_.implies(facts, less(i * s, room)));
}

TEST_F(IndexSolverTest, ComparesMinimaAndMaxima) {
  const Polynomial a = symbol("a");
  const Polynomial b = symbol("b");
  EXPECT_TRUE(solver_.implies({}, less_equal(atoms_.minimum(a, b), atoms_.maximum(a, b))));
  EXPECT_TRUE(solver_.implies({}, equal(atoms_.minimum(a, b) + atoms_.maximum(a, b), a + b)));
  EXPECT_FALSE(solver_.implies({}, less_equal(atoms_.maximum(a, b), a)));
}

TEST_F(IndexSolverTest, DoesNotCallFactsContradictoryThatHold) {
  const Polynomial a = symbol("a");
  const Polynomial b = symbol("b");
  EXPECT_FALSE(solver_.contradictory({at_least_zero(a), less(a, b), less(b, 3)}));
  EXPECT_TRUE(solver_.contradictory({at_least_zero(a), less(a, b), less(b, 1)}));
}

TEST_F(IndexSolverTest, KeepsItsQueriesAsSmtLib) {
  const Polynomial a = symbol("a");
  // Parity: no witness, no sum of facts.
  EXPECT_TRUE(solver_.contradictory({equal(2 * a, 2 * symbol("b") + 1)}));
  ASSERT_EQ(session_.queries().size(), 1U);
  EXPECT_NE(session_.queries()[0].find("(declare-fun"), std::string::npos);
}

TEST_F(IndexSolverTest, AddsFactsUp) {
  const Polynomial i = symbol("i");
  const Polynomial n = symbol("n");
  const Polynomial m = symbol("m");
  EXPECT_TRUE(add_up_to_contradiction({less(i, n), less_equal(n, m), less_equal(m, i)}));
  EXPECT_FALSE(add_up_to_contradiction({less(i, n), less_equal(n, m), less(m, i + 5)}));
  EXPECT_TRUE(add_up_to_contradiction({less_equal(1, n), less_equal(1, m), less(n * m, 1)}));
  EXPECT_FALSE(add_up_to_contradiction({less_equal(1, n), less_equal(1, m), less(n * m, 2)}));
}

}  // namespace
}  // namespace egret::verifier
