// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/budget.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/extract/all_choices.h"
#include "tests/extract/needs_solver.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

SideRow random_budget(const EGraphView& graph, base::Random& random) {
  SideRow row;
  row.most = random.uniform(0, 4);
  for (NodeIndex node = 0; node < graph.node_count(); ++node) {
    if (random.chance(0.6)) row.add(node, random.uniform(0, 2));
  }
  return row;
}

TEST(Budget, AnswersAreTheLeastWithinIt) {
  SKIP_WITHOUT_MILP_SOLVER();
  base::Random random(72);
  int solved = 0, binding = 0;
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view = random_view(random, 7, {.backwards = 0.3});
    const Problem problem{view.graph, view.costs};
    const SideRow row = random_budget(view.graph, random);
    const double best = least_within(problem, {&row, 1});
    const ExtractorRow& extractor = *find_extractor("auto");
    const auto free = extractor.extract(problem, {});
    const auto found = extract_within_budget(problem, row, extractor, {});
    ASSERT_EQ(found.ok(), std::isfinite(best));
    if (!found.ok()) continue;
    ASSERT_TRUE(check_solution(problem, *found).ok());
    EXPECT_NEAR(found->dag_cost, best, 1e-5 * (1 + best));
    EXPECT_LE(weight_of(row, *found, view.graph), row.most + 1e-5);
    const auto again = extract_within_budget(problem, row, extractor, {}, &*found);
    ASSERT_TRUE(again.ok());
    EXPECT_NEAR(again->dag_cost, best, 1e-5 * (1 + best));
    solved += 1;
    if (best > free->dag_cost + 1e-6) binding += 1;
  }
  EXPECT_GT(solved, 150);
  EXPECT_GT(binding, 20);
}

// Prices alone, without the integer program: a feasible answer and a bound that holds. The time for
// it is over before the program starts.
TEST(Budget, BoundsHoldWithoutTheSolver) {
  base::Random random(73);
  int found_some = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const RandomView view = random_view(random, 6, {});
    const Problem problem{view.graph, view.costs};
    const SideRow row = random_budget(view.graph, random);
    const double best = least_within(problem, {&row, 1});
    int asked = 0;
    const ExtractorRow counting{"counting", "", [&](const Problem& p, const Options& o) {
                                  ++asked;
                                  return find_extractor("auto")->extract(p, o);
                                }};
    const auto found = extract_within_budget(
        problem, row, counting, {.time_limit_s = 60, .should_stop = [&] { return asked > 3; }});
    if (!found.ok()) continue;
    ++found_some;
    EXPECT_LE(weight_of(row, *found, view.graph), row.most + 1e-5);
    EXPECT_GE(found->dag_cost, best - 1e-6 * (1 + best));
    EXPECT_LE(found->bound, best + 1e-6 * (1 + best));
  }
  EXPECT_GT(found_some, 100);
}

}  // namespace
}  // namespace egret::extract
