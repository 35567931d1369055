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

// Rows beside the costs, each of two candidates: one only beside the other, or not both.
TEST(Elimination, KeepsToShortRows) {
  base::Random random(53);
  int solved = 0;
  int bound = 0;  // problems in which the rows matter
  for (int trial = 0; trial < 2000; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view = random_view(random, 6, {.nodes = 3, .arity = 2, .backwards = 0.3});
    const auto core = Core::of({view.graph, view.costs});
    if (!core.ok()) continue;
    const CoreProblem problem(*core);
    const auto nodes = static_cast<std::int64_t>(problem.graph.node_count());
    std::vector<SideRow> rows(2);
    std::vector<Milp::Row> sides;
    for (SideRow& row : rows) {
      const auto first = static_cast<NodeIndex>(random.between(0, nodes - 1));
      const auto second = static_cast<NodeIndex>(random.between(0, nodes - 1));
      const bool both = &row == &rows.front();
      row.most = both ? 0 : 1;
      row.add(first, 1);
      if (second != first) row.add(second, both ? -1 : 1);
      sides.push_back({-Milp::kInfinite, row.most, {}, {}});
      for (std::size_t i = 0; i < row.nodes.size(); ++i)
        sides.back().add(static_cast<int>(row.nodes[i]), row.weights[i]);
    }
    const double least = least_within(problem.problem(), rows);
    const auto answer = solve_by_elimination(*core, {}, base::Deadline::after(60), {}, sides);
    // None is given where there is none, or where what nothing needs made a row hold.
    if (!answer) continue;
    EXPECT_NEAR(answer->cost, least, 1e-9);
    solved += 1;
    if (least > least_dag_cost(problem.problem()) + 1e-9) bound += 1;
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(solved, 1000);
  EXPECT_GT(bound, 100);
}

// A row of many candidates is no table.
TEST(Elimination, LeavesLongRowsAlone) {
  Core core;
  Milp::Row row{-Milp::kInfinite, 20, {}, {}};
  for (int i = 0; i < 30; ++i) {
    core.classes.push_back({{1, {}, {}}});
    core.required.push_back(true);
    row.add(i, 1);
  }
  EXPECT_FALSE(
      solve_by_elimination(core, {}, base::Deadline::after(60), {}, {&row, 1}).has_value());
  EXPECT_TRUE(solve_by_elimination(core, {}, base::Deadline::after(60), {}).has_value());
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
