// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/cut_loop.h"

#include <gtest/gtest.h>

#include "extract/milp/loop_cuts.h"
#include "extract/milp/primal_dual_lp.h"
#include "tests/extract/all_choices.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

constexpr double kRounding = 1e-9;

TEST(LoopCuts, HoldForAllChoicesOfRandomGraphs) {
  base::Random random(31);
  std::size_t cuts = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view = random_view(random, 7, {.nodes = 3, .arity = 3, .backwards = 0.4});
    const auto core = Core::of({view.graph, view.costs});
    if (!core.ok()) continue;
    const FlatCore flat(*core);
    std::vector<double> values;
    for (CandidateIndex k = 0; k < flat.size(); ++k) values.push_back(random.uniform(0, 0.6));
    const std::vector<Milp::Row> rows = violated_loop_cuts(flat, values);
    cuts += rows.size();
    const CoreProblem problem(*core);
    for_all_choices(
        problem.problem(), [&](const ChoiceWalk& walk, const std::vector<NodeIndex>& choice) {
          std::vector<bool> chosen(flat.size(), false);
          for (const ClassIndex c : walk.order) chosen[choice[c]] = true;
          for (const Milp::Row& row : rows) {
            double sum = 0;
            for (std::size_t i = 0; i < row.columns.size(); ++i)
              sum += chosen[static_cast<std::size_t>(row.columns[i])] ? row.values[i] : 0;
            EXPECT_LE(sum, row.upper);
          }
        });
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(cuts, 500);
}

// root takes a or b, each by half; either leads to c, which a row for each need sees half of.
TEST(LoopCuts, AddUpDifferentWaysToOneClass) {
  constexpr ClassIndex kA = 1;
  constexpr ClassIndex kB = 2;
  constexpr ClassIndex kC = 3;
  Core core;
  core.classes = {{{0, {kA}, {}}, {0, {kB}, {}}}, {{1, {kC}, {}}}, {{1, {kC}, {}}}, {{5, {}, {}}}};
  core.required = {true, false, false, false};
  const FlatCore flat(core);
  const std::vector<double> values = {0.5, 0.5, 0.5, 0.5, 0.5};
  const std::vector<Milp::Row> rows = violated_loop_cuts(flat, values);
  ASSERT_FALSE(rows.empty());
  double sum = 0;
  for (std::size_t i = 0; i < rows[0].columns.size(); ++i)
    sum += values[static_cast<std::size_t>(rows[0].columns[i])] * rows[0].values[i];
  EXPECT_GT(sum, rows[0].upper + 0.4);
}

// From no rows at all and an answer that is known to be bad.
TEST(CutLoop, BoundsAnswersAndUselessCandidatesHoldForAllChoices) {
  base::Random random(32);
  int solvable = 0;
  int tight = 0;
  for (int trial = 0; trial < 400; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view = random_view(random, 7, {.nodes = 3, .arity = 3, .backwards = 0.3});
    const auto core = Core::of({view.graph, view.costs});
    if (!core.ok()) continue;
    const CoreProblem problem(*core);
    const double best = least_dag_cost(problem.problem());
    Milp program;
    for (const double cost : problem.costs) program.columns.push_back({cost});
    PrimalDualLp relaxation(program);
    const double known = best + 5;
    const auto tightened =
        tighten(*core, program, known, relaxation, base::Deadline::after(10), {});
    ASSERT_TRUE(tightened.ok());
    solvable += 1;
    tight += tightened->bound >= best - 1e-6 ? 1 : 0;
    EXPECT_LE(tightened->bound, best + kRounding);
    std::vector<bool> useless(program.columns.size(), false);
    for (const int candidate : tightened->useless)
      useless[static_cast<std::size_t>(candidate)] = true;
    for_all_choices(problem.problem(),
                    [&](const ChoiceWalk& walk, const std::vector<NodeIndex>& choice) {
                      if (walk.dag_cost > best + kRounding) return;
                      for (const ClassIndex c : walk.order) EXPECT_FALSE(useless[choice[c]]);
                    });
    if (!tightened->chosen.empty()) {
      std::vector<NodeIndex> choice = tightened->chosen;
      for (ClassIndex c = 0; c < choice.size(); ++c) {
        if (choice[c] != kNoNode) choice[c] += problem.graph.class_begin[c];
      }
      const ChoiceWalk walk = walk_choice(problem.problem(), choice);
      ASSERT_EQ(walk.outcome, ChoiceWalk::Outcome::kComplete);
      EXPECT_NEAR(walk.dag_cost, tightened->cost, kRounding);
    }
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(solvable, 200);
  EXPECT_GT(tight, solvable / 2);
}

}  // namespace
}  // namespace egret::extract
