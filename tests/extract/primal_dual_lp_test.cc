// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/primal_dual_lp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace egret::extract {
namespace {

// A covering program over columns of [0, 1], which all ones solve.
Milp::Row random_row(base::Random& random, int columns) {
  Milp::Row row;
  for (int c = 0; c < columns; ++c) {
    if (random.chance(0.3)) row.add(c, random.uniform(0.5, 2));
  }
  if (row.columns.empty()) row.add(0, 1);
  double sum = 0;
  for (const double value : row.values) sum += value;
  row.lower = random.uniform(0, sum);
  return row;
}

// What the duals prove: valid whatever they are, if only their signs are right.
double proven(const Milp& program, const std::vector<double>& duals) {
  double sum = 0;
  std::vector<double> rest;
  for (const Milp::Column& column : program.columns) rest.push_back(column.cost);
  for (std::size_t r = 0; r < program.rows.size(); ++r) {
    const Milp::Row& row = program.rows[r];
    EXPECT_GE(duals[r], 0);
    sum += duals[r] * row.lower;
    for (std::size_t i = 0; i < row.columns.size(); ++i)
      rest[static_cast<std::size_t>(row.columns[i])] -= duals[r] * row.values[i];
  }
  for (std::size_t c = 0; c < rest.size(); ++c)
    sum += std::min(0.0, rest[c] * program.columns[c].upper);
  return sum;
}

TEST(PrimalDualLp, MeetsItselfFromBothSidesWhileRowsAreAdded) {
  base::Random random(41);
  for (int trial = 0; trial < 50; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    constexpr int kColumns = 30;
    Milp program;
    for (int c = 0; c < kColumns; ++c) program.columns.push_back({random.uniform(1, 9)});
    PrimalDualLp lp(program);
    const auto solve = [&] {
      LpAnswer answer;
      for (int i = 0; i < 30; ++i) answer = *lp.relax(10, 1e-6);
      double cost = 0;
      for (std::size_t c = 0; c < kColumns; ++c) {
        EXPECT_LE(answer.values[c], program.columns[c].upper + 1e-9);
        cost += answer.values[c] * program.columns[c].cost;
      }
      for (const Milp::Row& row : program.rows) {
        double sum = 0;
        for (std::size_t i = 0; i < row.columns.size(); ++i)
          sum += row.values[i] * answer.values[static_cast<std::size_t>(row.columns[i])];
        EXPECT_GE(sum, row.lower - 0.05);
      }
      EXPECT_NEAR(proven(program, answer.duals), cost, 0.01 * cost + 0.01);
      return cost;
    };
    double least = 0;
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 4; ++i) {
        program.rows.push_back(random_row(random, kColumns));
        ASSERT_TRUE(lp.add(program.rows.back(), i == 0 ? 0.5 : 0).ok());
      }
      const double cost = solve();
      EXPECT_GE(cost, least * 0.99 - 0.01);  // rows only take answers away
      least = cost;
    }
  }
}

// Whatever it has by then proves a bound.
TEST(PrimalDualLp, EndsWhenItIsAskedTo) {
  base::Random random(43);
  Milp program;
  for (int c = 0; c < 60; ++c) program.columns.push_back({random.uniform(1, 9)});
  for (int r = 0; r < 40; ++r) program.rows.push_back(random_row(random, 60));
  const auto times_asked = [&](int most) {
    PrimalDualLp lp(program);
    int asked = 0;
    lp.stop_when([&] { return ++asked >= most; });
    const auto answer = lp.relax(60, 0);
    EXPECT_TRUE(answer.ok());
    EXPECT_TRUE(std::isfinite(proven(program, answer->duals)));
    return asked;
  };
  const int whole = times_asked(1'000'000);
  ASSERT_GT(whole, 100);
  for (const int most : {1, 2, 50, 100}) EXPECT_EQ(times_asked(most), most);
}

TEST(PrimalDualLp, LeavesForbiddenColumnsAtZero) {
  Milp program;
  program.columns = {{1}, {3}};
  Milp::Row row;
  row.lower = 1;
  row.add(0, 1);
  row.add(1, 1);
  program.rows.push_back(row);
  PrimalDualLp lp(program);
  EXPECT_NEAR(lp.relax(10, 1e-6)->values[0], 1, 1e-2);
  ASSERT_TRUE(lp.forbid(0).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(lp.relax(10, 1e-6).ok());
  const LpAnswer answer = *lp.relax(10, 1e-6);
  EXPECT_EQ(answer.values[0], 0);
  EXPECT_NEAR(answer.values[1], 1, 1e-2);
  program.columns[0].upper = 0;
  EXPECT_NEAR(proven(program, answer.duals), 3, 0.1);
}

}  // namespace
}  // namespace egret::extract
