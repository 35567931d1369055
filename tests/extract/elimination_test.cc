// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/elimination.h"

#include <gtest/gtest.h>

#include "tests/extract/all_choices.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

// Of whole cores, which no reduction has touched.
TEST(Elimination, FindsTheLeastOfAllChoicesOfRandomGraphs) {
  base::Random random(51);
  int solved = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view =
        random_view(random, 7, {.nodes = 3, .arity = 3, .backwards = trial % 2 == 0 ? 0.2 : 0.6});
    const auto core = Core::of({view.graph, view.costs});
    if (!core.ok()) continue;
    const CoreProblem problem(*core);
    const auto answer = solve_by_elimination(*core, {}, base::Deadline::after(60), {});
    ASSERT_TRUE(answer.has_value());
    EXPECT_TRUE(answer->proven);
    EXPECT_NEAR(answer->cost, least_dag_cost(problem.problem()), 1e-9);
    std::vector<NodeIndex> choice = answer->chosen;
    for (ClassIndex c = 0; c < choice.size(); ++c) {
      if (choice[c] != kNoNode) choice[c] += problem.graph.class_begin[c];
    }
    const ChoiceWalk walk = walk_choice(problem.problem(), choice);
    ASSERT_EQ(walk.outcome, ChoiceWalk::Outcome::kComplete);
    EXPECT_NEAR(walk.dag_cost, answer->cost, 1e-9);
    solved += 1;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(solved, 1500);
}

// A ladder: each class needs both of the next rung, or a leaf that is the dearer the higher it is.
// Narrow however long it is.
TEST(Elimination, IsQuickWhereAGraphIsLongAndNarrow) {
  constexpr ClassIndex kRungs = 3000;
  Core core;
  for (ClassIndex rung = 0; rung < kRungs; ++rung) {
    const ClassIndex left = 2 * rung + 2;
    for (int side = 0; side < 2; ++side) {
      std::vector<Candidate> candidates = {{4.0 * (kRungs - rung), {}, {}}};
      if (rung + 1 < kRungs) candidates.push_back({1, {left, left + 1}, {}});
      core.classes.push_back(std::move(candidates));
      core.required.push_back(rung == 0);
    }
  }
  const auto answer = solve_by_elimination(core, {.width = 8}, base::Deadline::after(60), {});
  ASSERT_TRUE(answer.has_value());
  EXPECT_NEAR(answer->cost, 2 * (kRungs - 1) + 2 * 4.0, 1e-6);
}

TEST(Elimination, SaysWhenAGraphIsTooWide) {
  base::Random random(52);
  Core core;
  constexpr ClassIndex kClasses = 60;
  for (ClassIndex c = 0; c < kClasses; ++c) {
    core.required.push_back(c < 20);
    std::vector<Candidate> candidates = {{10, {}, {}}};
    for (int i = 0; c < 40 && i < 3; ++i) {
      std::vector<ClassIndex> needs;
      for (ClassIndex n = 40; n < kClasses; ++n) {
        if (random.chance(0.3)) needs.push_back(n);
      }
      candidates.push_back({1, std::move(needs), {}});
    }
    core.classes.push_back(std::move(candidates));
  }
  EXPECT_FALSE(solve_by_elimination(core, {.width = 3}, base::Deadline::after(60), {}).has_value());
}

}  // namespace
}  // namespace egret::extract
