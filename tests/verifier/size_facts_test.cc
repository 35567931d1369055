// SPDX-License-Identifier: Apache-2.0
#include "verifier/index/size_facts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "ir/core/symbol_values.h"
#include "verifier/index/proven_sizes.h"
#include "verifier/index/size_proof_search.h"

namespace egret::verifier {
namespace {

using ir::Guard;
using ir::Index;
using ir::symbolic_dim;

const Index n = symbolic_dim("n");
const Index m = symbolic_dim("m");

// Whether the guard is found to hold for all sizes, by a proof that is accepted.
bool proves(SizeFacts& facts, Guard guard) {
  const auto proof = find_size_proof(facts, !guard);
  return proof && facts.contradictory(!guard, *proof);
}
bool proves(Guard guard) {
  SizeFacts facts;
  return proves(facts, guard);
}

TEST(SizeFacts, KnowWhatHoldsForAllSizes) {
  EXPECT_TRUE(proves(n >= 1));
  EXPECT_TRUE(proves(n * m >= n));
  EXPECT_TRUE(proves(n * 768 == 768 * n));
  EXPECT_TRUE(proves(div(n * 64, 64) == n));
  EXPECT_TRUE(proves(div(n, 2) <= n));
  EXPECT_TRUE(proves(n + 1 != n));
  EXPECT_TRUE(proves(min(n, m) <= n));
  EXPECT_TRUE(proves(max(n, 8) >= 8));
  EXPECT_TRUE(proves(n >= 1 && m + 1 >= 2));
  EXPECT_TRUE(proves(n <= 0 || m >= 1));
  EXPECT_TRUE(proves(div(n + 1, 2) >= 1));
  EXPECT_TRUE(proves(mod(n, 4) <= 3));
}

TEST(SizeFacts, DoNotKnowWhatDependsOnSizes) {
  EXPECT_FALSE(proves(n >= 2));
  EXPECT_FALSE(proves(n == m));
  EXPECT_FALSE(proves(n * m == n));
  EXPECT_FALSE(proves(div(n, 2) >= 1));
  EXPECT_FALSE(proves(div(n, 2) * 2 == n));
  EXPECT_FALSE(proves(n <= 100));
  EXPECT_FALSE(proves(min(n, m) == n));
}

TEST(SizeFacts, UseRangesAndAssumptions) {
  SizeFacts facts({{"n", {4, 128}}});
  EXPECT_TRUE(proves(facts, n >= 4));
  EXPECT_TRUE(proves(facts, n <= 128));
  EXPECT_FALSE(proves(facts, n <= 127));
  EXPECT_FALSE(proves(facts, m <= 128));
  facts.assume(m + 2 <= n);
  EXPECT_TRUE(proves(facts, m <= 126));
  EXPECT_TRUE(proves(facts, m * 2 + 4 <= n * 2));
  EXPECT_TRUE(facts.is_assumed(m + 2 <= n));
}

// A proof is checked: facts that do not add up, factors that may be negative, and numbers of no
// fact show nothing.
TEST(SizeFacts, RefuseWrongProofs) {
  SizeFacts facts({{"n", {1, 128}}});
  facts.assume(m + 2 <= n);
  const Guard never = !(m <= 126);
  const auto proof = find_size_proof(facts, never);
  ASSERT_TRUE(proof.has_value());
  ASSERT_TRUE(facts.contradictory(never, *proof));
  EXPECT_FALSE(facts.contradictory(never));
  for (const char* wrong : {"", "0:1", "0:1;1:2", "0:0;1:0", "0:1;1:-1", "0:1;99:1", "0:1;1:1*n",
                            "0:-1;1:n - 2", "x", "0", ":", "0:1;1:", "0:1;-1:1", "|0:1;1:1"})
    EXPECT_FALSE(facts.contradictory(never, wrong)) << wrong;
  // What is not so has no proof, whatever is tried.
  const Guard possible = n <= 5;
  for (int fact = 0; fact < 8; ++fact) {
    for (const char* factor : {"0", "1", "n", "m", "n*m", "n - 1", "n - 2", "-1", "1 - n"})
      EXPECT_FALSE(facts.contradictory(possible, std::to_string(fact) + ":" + factor));
  }
}

// The facts about q = (n - 1) div (2 - n) add up to 1 - n >= 0, and times q + 2 and q + 1 to
// -q >= 0: both are wrong, because the divisor is not positive where n is 2 or more.
TEST(SizeFacts, SayNothingOfADivisorThatMayBeZero) {
  SizeFacts facts({{"n", {1, std::int64_t{1} << 31}}});
  const Index quotient = div(n - 1, 2 - n);
  const std::string q = "div(n - 1, 2 - n)";
  EXPECT_FALSE(facts.cases(quotient >= 1).has_value());
  for (const Guard possible : {quotient >= 1, n + quotient >= 2, mod(n, 2 - n) >= 5}) {
    for (int first = 0; first < 8; ++first) {
      for (int second = 0; second < 8; ++second) {
        for (const std::string& factor : {std::string("0"), std::string("1"), q + " + 1"}) {
          const std::string proof = "0:1;" + std::to_string(first) + ":" + q + " + 2;" +
                                    std::to_string(second) + ":" + factor;
          ASSERT_FALSE(facts.contradictory(possible, proof)) << to_string(possible) << proof;
        }
      }
    }
  }
  // Nor as a factor.
  EXPECT_FALSE(facts.contradictory(n >= 5, "0:" + q));
  // A divisor that is positive for all sizes may have symbols.
  EXPECT_TRUE(proves(facts, div(n * m, n + 1) <= m));
  EXPECT_TRUE(proves(facts, mod(m, n) >= 0));
}

// Expressions that are short, and long once they are expanded, show nothing, at once.
TEST(SizeFacts, AreShortWhereExpressionsGrow) {
  SizeFacts facts;
  Index nested = n;
  Index product = 1;
  int made = 0;
  for (int level = 0; level < 7; ++level) {
    Index divisor = 1;
    for (int i = 0; i < 18; ++i) divisor = divisor + symbolic_dim("d" + std::to_string(made++));
    nested = div(nested, divisor);
  }
  for (int i = 0; i < 40; ++i) product = product * symbolic_dim("p" + std::to_string(i));
  EXPECT_FALSE(facts.contradictory(nested >= n + 1));
  EXPECT_FALSE(facts.contradictory(product <= 0));
  EXPECT_TRUE(proves(facts, n >= 1));
}

// What cannot be taken as facts is left out, and the rest counts.
TEST(SizeFacts, LeaveOutAssumptionsOfManyCases) {
  const auto one_of_many = [](Index size) {
    Guard any = size == 2;
    for (int i = 3; i < 12; ++i) any = any || size == i;
    return any;
  };
  SizeFacts facts;
  facts.assume(one_of_many(n) && one_of_many(m));  // 100 cases
  facts.assume(m >= 3);
  EXPECT_TRUE(proves(facts, m >= 2));
  EXPECT_FALSE(proves(facts, m >= 4));
}

// No proof is accepted of a guard that some sizes meet.
TEST(SizeFacts, AgreeWithEvaluation) {
  const Index terms[] = {n,         m,         n + m,         n * m,         div(n, 3),
                         mod(m, 2), min(n, m), max(n, m - 3), div(n + m, 2), n * 2 - m,
                         Index(1),  Index(4),  div(n, m),     div(m, n - 2)};
  int proven = 0;
  for (const Index a : terms) {
    for (const Index b : terms) {
      for (const Guard guard : {a <= b, a == b, !(a <= b), a <= b && b <= n}) {
        if (guard.is_constant() || !proves(guard)) continue;
        ++proven;
        for (std::int64_t x = 1; x <= 9; ++x) {
          for (std::int64_t y = 1; y <= 9; ++y)
            EXPECT_EQ(ir::evaluate(guard, {{"n", x}, {"m", y}}), std::optional(true))
                << to_string(guard) << " at " << x << ", " << y;
        }
      }
    }
  }
  EXPECT_GT(proven, 20);
}

TEST(ProvenSizes, DecideByProofsAlone) {
  SizeProofs found;
  {
    ProvenSizes sizes({{"n", {{1, 100}, 7}}, {"m", {{1, 100}, 2}}}, {}, find_size_proof);
    auto* const scope = ir::SymbolicScope::current();
    scope->symbol("n", 7);
    scope->symbol("m", 2);
    EXPECT_EQ(ir::decided(n + m <= 200), std::optional(true));
    EXPECT_EQ(ir::decided(n + m >= 201), std::optional(false));
    EXPECT_EQ(ir::decided(n <= 7), std::nullopt);
    found = sizes.proofs();
    EXPECT_FALSE(found.empty());
  }
  ProvenSizes sizes({{"n", {{1, 100}, 7}}, {"m", {{1, 100}, 2}}}, found);
  ir::SymbolicScope::current()->symbol("n", 7);
  ir::SymbolicScope::current()->symbol("m", 2);
  EXPECT_EQ(ir::decided(n + m <= 200), std::optional(true));
  EXPECT_EQ(ir::decided(n + m <= 199), std::nullopt);  // its proof was never made
}

// What the second program requires beyond the first is no assumption.
TEST(ProvenSizes, AssumeNothingAfterTheFirstProgram) {
  ProvenSizes sizes({{"n", {{1, 100}, 7}}}, {});
  auto* const scope = ir::SymbolicScope::current();
  scope->symbol("n", 7);
  EXPECT_TRUE(scope->assume(n >= 3));
  ASSERT_TRUE(sizes.close(ir::Graph()).ok());
  EXPECT_EQ(ir::decided(n >= 3), std::optional(true));
  EXPECT_TRUE(sizes.check().ok());
  scope->assume(n >= 5);
  EXPECT_EQ(ir::decided(n >= 5), std::nullopt);
  EXPECT_EQ(sizes.check().code(), base::StatusCode::kMismatch);
}

}  // namespace
}  // namespace egret::verifier
