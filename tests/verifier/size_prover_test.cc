// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/size_prover.h"

#include <gtest/gtest.h>

namespace egret::verifier {
namespace {

using ir::div;
using ir::Index;
using ir::mod;
using ir::symbolic_dim;

TEST(SizeProver, DecidesWhatHoldsForAllSizes) {
  SizeProver sizes;
  const Index n = symbolic_dim("n");
  const Index m = symbolic_dim("m");
  EXPECT_EQ(sizes.holds(n >= 1), true);
  EXPECT_EQ(sizes.holds(n == 0), false);
  EXPECT_EQ(sizes.holds(n + 1 == 1 + n), true);
  EXPECT_EQ(sizes.holds(n * 3 == n + n * 2), true);
  EXPECT_EQ(sizes.holds(div(n * 4, Index(4)) == n), true);
  EXPECT_EQ(sizes.holds(mod(n * 6, Index(3)) == 0), true);
  EXPECT_EQ(sizes.holds(ir::max(n, m) >= m), true);
  EXPECT_EQ(sizes.holds(n * m >= n), true);
}

TEST(SizeProver, SaysNothingOfWhatDependsOnSizes) {
  SizeProver sizes;
  const Index n = symbolic_dim("n");
  const Index m = symbolic_dim("m");
  EXPECT_EQ(sizes.holds(n == m), std::nullopt);
  EXPECT_EQ(sizes.holds(n >= 2), std::nullopt);
  EXPECT_EQ(sizes.holds(mod(n, Index(2)) == 0), std::nullopt);
  EXPECT_EQ(sizes.holds(n == 123'456'789), std::nullopt);  // no sample has it
}

TEST(SizeProver, UsesRangesAndAssumptions) {
  SizeProver sizes({{"n", {.least = 8, .most = 100}}});
  const Index n = symbolic_dim("n");
  const Index m = symbolic_dim("m");
  EXPECT_EQ(sizes.holds(n >= 8), true);
  EXPECT_EQ(sizes.holds(n > 100), false);
  EXPECT_EQ(sizes.holds(m <= 100), std::nullopt);
  sizes.assume(n == m);
  EXPECT_EQ(sizes.holds(m <= 100), true);
  EXPECT_EQ(sizes.holds(n * 2 == n + m), true);
  EXPECT_EQ(sizes.assumptions().size(), 1U);
}

}  // namespace
}  // namespace egret::verifier
