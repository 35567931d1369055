// SPDX-License-Identifier: Apache-2.0
// Proofs of contradictions: found, checked, and rejected once something in them is changed.
#include <gtest/gtest.h>

#include <functional>

#include "base/random.h"
#include "verifier/contradictions/certified_solver.h"
#include "verifier/contradictions/contradiction_search.h"
#include "verifier/contradictions/linear_program.h"

namespace egret::verifier {
namespace {

using Build = std::function<void(Query&)>;

// Whether a proof is found; it survives being written and read.
bool is_refuted(Query::Sort sort, const Build& build) {
  Query query(sort);
  build(query);
  const auto proof = find_contradiction(query, {});
  if (!proof) return false;
  const auto json = base::Json::parse(json_of(*proof).dump());
  EXPECT_TRUE(json.ok());
  const auto read = parse_contradiction_proof(*json);
  EXPECT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(is_contradictory(query, *read));
  return true;
}

constexpr auto kInteger = Query::Sort::kInteger;
constexpr auto kReal = Query::Sort::kReal;

TEST(Contradiction, AddsFactsUp) {
  EXPECT_TRUE(is_refuted(kReal, [](Query& q) {
    const auto x = q.unknown("x");
    const auto y = q.unknown("y");
    const auto z = q.unknown("z");
    q.add(x + x < y);
    q.add(y < z);
    q.add(z <= x + x);
  }));
  EXPECT_FALSE(is_refuted(kReal, [](Query& q) {
    const auto x = q.unknown("x");
    q.add(x <= q.number(0));
    q.add(0 <= x);
  }));
}

TEST(Contradiction, KnowsThatWholeNumbersHaveGaps) {
  const Build between = [](Query& q) {
    const auto x = q.unknown("x");
    q.add(0 < x);
    q.add(x < q.number(1));
  };
  EXPECT_TRUE(is_refuted(kInteger, between));
  EXPECT_FALSE(is_refuted(kReal, between));
  const Build parity = [](Query& q) {
    const auto x = q.unknown("x");
    const auto y = q.unknown("y");
    q.add(0 <= x);
    q.add(x <= q.number(3));
    q.add(x + x == q.number(2) * y + q.number(1));
  };
  EXPECT_TRUE(is_refuted(kInteger, parity));
  EXPECT_FALSE(is_refuted(kReal, parity));
}

TEST(Contradiction, DistinguishesCases) {
  const auto build = [](bool both) {
    return [=](Query& q) {
      const auto x = q.unknown("x");
      const auto y = q.unknown("y");
      q.add(x <= y || y + q.number(2) <= x);
      q.add(implies(x <= y, x < q.number(0)));
      if (both) q.add(implies(!(x <= y), y < q.number(-2) && q.number(3) < y));
      q.add(0 <= x);
    };
  };
  EXPECT_TRUE(is_refuted(kInteger, build(true)));
  EXPECT_FALSE(is_refuted(kInteger, build(false)));
}

TEST(Contradiction, TakesEquationsApart) {
  EXPECT_TRUE(is_refuted(kReal, [](Query& q) {
    const auto x = q.unknown("x");
    const auto y = q.unknown("y");
    const auto largest = if_else(x <= y, y, x);
    const auto other = if_else(y <= x, x, y);
    q.add(!(largest == other));
  }));
  EXPECT_FALSE(is_refuted(kReal, [](Query& q) {
    const auto x = q.unknown("x");
    const auto y = q.unknown("y");
    q.add(!(if_else(x <= y, y, x) == x));
  }));
}

TEST(Contradiction, MultipliesFacts) {
  EXPECT_TRUE(is_refuted(kReal, [](Query& q) {
    const auto x = q.unknown("x");
    const auto y = q.unknown("y");
    q.add(0 < x);
    q.add(0 < y);
    q.add(x * y <= q.number(0));
  }));
  EXPECT_TRUE(is_refuted(kReal, [](Query& q) {
    // max(0, r x) = r max(0, x) for r > 0
    const auto r = q.unknown("r");
    const auto x = q.unknown("x");
    const auto zero = q.number(0);
    q.add(0 < r);
    q.add(!(if_else(zero <= r * x, r * x, zero) == r * if_else(zero <= x, x, zero)));
  }));
}

// Each number of a proof, changed: no proof is accepted that shows something wrong, and one that
// stays accepted still refutes the query.
TEST(Contradiction, ChangedProofsOfSatisfiableQueriesAreRejected) {
  base::Random random(1);
  for (int round = 0; round < 200; ++round) {
    // A contradictory query, and one that lacks one of its assertions and has a solution.
    const auto build = [](Query& q, bool whole) {
      const auto x = q.unknown("x");
      const auto y = q.unknown("y");
      q.add(q.number(2) * x <= y);
      q.add(y <= q.number(3) || y <= x);
      q.add(q.number(2) <= x);
      if (whole) q.add(0 <= y);
      q.add(x <= q.number(5));
    };
    Query all(kInteger);
    build(all, true);
    const auto proof = find_contradiction(all, {});
    ASSERT_TRUE(proof);
    ContradictionProof changed = *proof;
    auto& step = changed.steps[random.below(changed.steps.size())];
    switch (random.below(4)) {
      case 0:
        if (!step.sum.empty()) step.sum.pop_back();
        break;
      case 1:
        if (!step.sum.empty()) step.sum.front().factor = -step.sum.front().factor;
        break;
      case 2: step.node = static_cast<std::uint32_t>(random.below(all.nodes().size() + 2)); break;
      default:
        if (!changed.assertions.empty()) changed.assertions.pop_back();
    }
    Query some(kInteger);  // x = 2, y = 4 is excluded, x = 4, y = 4 is excluded: y <= x and 2x <= y
    const auto x = some.unknown("x");
    const auto y = some.unknown("y");
    some.add(x <= y);
    some.add(y <= some.number(3) || y <= x);
    some.add(some.number(2) <= x);
    some.add(x <= some.number(5));
    EXPECT_FALSE(is_contradictory(some, changed));
    EXPECT_FALSE(is_contradictory(some, *proof));
  }
}

TEST(Contradiction, ASumWithoutOneOfItsFactsIsNone) {
  Query query(kReal);
  const auto x = query.unknown("x");
  query.add(0 < x);
  query.add(x < query.number(0));
  auto proof = find_contradiction(query, {});
  ASSERT_TRUE(proof);
  ASSERT_EQ(proof->steps.size(), 1);
  ASSERT_EQ(proof->steps[0].kind, ContradictionProof::Kind::kSum);
  ASSERT_EQ(proof->steps[0].sum.size(), 2);
  ContradictionProof less = *proof;
  less.steps[0].sum.pop_back();
  EXPECT_FALSE(is_contradictory(query, less));
  ContradictionProof negative = *proof;
  negative.steps[0].sum[0].factor = -1;
  EXPECT_FALSE(is_contradictory(query, negative));
  ContradictionProof other = *proof;
  other.steps[0].sum[0].factor = 7;
  EXPECT_FALSE(is_contradictory(query, other));
}

TEST(CertifiedSolver, AnswersOnlyWhatAProofShows) {
  Query query(kInteger);
  const auto x = query.unknown("x");
  query.add(x < x);
  ContradictionProofs proofs;
  CertifiedSolver::Findings findings;
  CertifiedSolver solver(proofs, findings);
  EXPECT_EQ(solver.ask(query, 1), Answer::kUnknown);
  proofs.emplace(contradiction_name(query), ContradictionProof{});
  EXPECT_EQ(solver.ask(query, 1), Answer::kUnknown);
  EXPECT_EQ(findings.wrong, contradiction_name(query));
  proofs.clear();
  proofs.emplace(contradiction_name(query), *find_contradiction(query, {}));
  EXPECT_EQ(solver.ask(query, 1), Answer::kUnsatisfiable);
  EXPECT_EQ(findings.shown, 1);
}

TEST(LinearProgram, FindsAPointOrASum) {
  const QueryFact above{{{{0}, 1}, {{}, -2}}, QueryFact::Relation::kNonNegative};  // x >= 2
  const QueryFact below{{{{0}, -2}, {{}, 3}}, QueryFact::Relation::kPositive};     // 3 > 2x
  const auto point = solve_linear({above});
  ASSERT_TRUE(point && std::holds_alternative<LinearPoint>(*point));
  EXPECT_GE(std::get<LinearPoint>(*point).at({0}), 2);
  const auto sum = solve_linear({above, below});
  ASSERT_TRUE(sum && std::holds_alternative<FarkasFactors>(*sum));
  const FarkasFactors& factors = std::get<FarkasFactors>(*sum);
  EXPECT_EQ(factors[0], 2 * factors[1]);
}

}  // namespace
}  // namespace egret::verifier
