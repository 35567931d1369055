// SPDX-License-Identifier: Apache-2.0
#include "extract/bounds/semidefinite_bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "extract/core/extractor.h"
#include "tests/extract/all_choices.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

// Choices between two candidates, and prices that one or two of these ask for.
Core pairwise_core(base::Random& random, int choices, int prices) {
  Core core;
  for (int i = 0; i < choices; ++i) {
    core.classes.push_back({{static_cast<double>(random.between(-2, 2)), {}, {}}, {0, {}, {}}});
    core.required.push_back(true);
  }
  for (int i = 0; i < prices; ++i) {
    const auto price = static_cast<ClassIndex>(core.classes.size());
    core.classes.push_back({{static_cast<double>(random.between(-5, 5)), {}, {}}});
    core.required.push_back(false);
    for (int user = 0; user < 2; ++user) {
      auto& needs =
          core.classes[random.below(static_cast<std::uint64_t>(choices))][random.below(2)].needs;
      if (needs.empty() || needs.back() != price) needs.push_back(price);
    }
  }
  return core;
}

TEST(SemidefiniteBound, IsBelowAllAnswersAndOftenNearTheLeast) {
  base::Random random(61);
  int near = 0;
  constexpr int kTrials = 1000;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Core core = pairwise_core(random, 6, 12);
    const double least = least_dag_cost(CoreProblem(core).problem());
    const auto bound = semidefinite_bound(core, base::Deadline::after(60));
    ASSERT_TRUE(bound.has_value());
    ASSERT_LE(*bound, least + 1e-6) << "trial " << trial;
    near += core.raised(*bound) >= least - 1e-9 ? 1 : 0;
  }
  EXPECT_GT(near, kTrials / 2);
}

// The largest cut of a complete graph of an even number of nodes: halves, which is what the bound
// says as well. A price for each edge and each side, which is paid back where an end is on it.
TEST(SemidefiniteBound, ProvesTheLargestCutOfACompleteGraph) {
  constexpr ClassIndex kNodes = 10;
  Core core;
  core.classes.assign(kNodes, {{0, {}, {}}, {0, {}, {}}});
  core.required.assign(kNodes, true);
  for (ClassIndex a = 0; a < kNodes; ++a) {
    for (ClassIndex b = a + 1; b < kNodes; ++b) {
      for (const std::size_t side : {0, 1}) {
        const auto price = static_cast<ClassIndex>(core.classes.size());
        core.classes.push_back({{-1, {}, {}}});
        core.required.push_back(false);
        core.classes[a][side].needs.push_back(price);
        core.classes[b][side].needs.push_back(price);
      }
    }
  }
  constexpr double kEdges = kNodes * (kNodes - 1) / 2;
  const auto bound = semidefinite_bound(core, base::Deadline::after(60));
  ASSERT_TRUE(bound.has_value());
  EXPECT_NEAR(*bound, -kEdges - kNodes * kNodes / 4, 1e-4);
  const CoreProblem problem(core);
  const auto answer = find_extractor("treewidth")->extract(problem.problem(), {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->quality, Quality::kOptimal);
  EXPECT_EQ(answer->dag_cost, -kEdges - kNodes * kNodes / 4);
}

TEST(SemidefiniteBound, SaysNothingOfOtherCores) {
  base::Random random(62);
  const base::Deadline deadline = base::Deadline::after(60);
  Core three = pairwise_core(random, 4, 4);
  three.classes[0].push_back({1, {}, {}});
  EXPECT_FALSE(semidefinite_bound(three, deadline).has_value());
  Core deep = pairwise_core(random, 4, 4);
  deep.classes[4][0].needs = {5};
  EXPECT_FALSE(semidefinite_bound(deep, deadline).has_value());
  Core shared = pairwise_core(random, 4, 0);
  shared.classes.push_back({{-1, {}, {}}});
  shared.required.push_back(false);
  for (ClassIndex c = 0; c < 3; ++c) shared.classes[c][0].needs = {4};
  EXPECT_FALSE(semidefinite_bound(shared, deadline).has_value());
}

}  // namespace
}  // namespace egret::extract
