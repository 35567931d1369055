// SPDX-License-Identifier: Apache-2.0
#include "extract/core/constraints.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/extract/all_choices.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

// Of all choices of the e-graph as it was those that keep to the constraints, its class of the
// forced node being one more root.
double least_that_keeps_to(const RandomView& view, NodeIndex forbidden, NodeIndex forced) {
  EGraphView graph = view.graph;
  graph.roots.push_back(graph.node_class[forced]);
  double best = std::numeric_limits<double>::infinity();
  for_all_choices({graph, view.costs},
                  [&](const ChoiceWalk& walk, const std::vector<NodeIndex>& choice) {
                    for (const ClassIndex c : walk.order) {
                      if (choice[c] == forbidden) return;
                    }
                    if (choice[graph.node_class[forced]] == forced)
                      best = std::min(best, walk.dag_cost);
                  });
  return best;
}

TEST(Constraints, AnswersAreTheLeastThatKeepToThem) {
  base::Random random(61);
  int solved = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view = random_view(random, 7, {.backwards = 0.3});
    const auto nodes = static_cast<std::int64_t>(view.graph.node_count());
    const auto forbidden = static_cast<NodeIndex>(random.between(0, nodes - 1));
    const auto forced = static_cast<NodeIndex>(random.between(0, nodes - 1));
    const auto made = constrained({view.graph, view.costs}, {&forbidden, 1}, {&forced, 1});
    ASSERT_EQ(made.ok(), forbidden != forced);
    if (!made.ok()) continue;
    const double best = least_that_keeps_to(view, forbidden, forced);
    const auto solution = find_extractor("auto")->extract(made->problem(), {});
    ASSERT_EQ(solution.ok(), std::isfinite(best));
    if (!solution.ok()) continue;
    ASSERT_TRUE(check_solution(made->problem(), *solution).ok());
    if (solution->quality == Quality::kOptimal) {
      EXPECT_NEAR(solution->dag_cost, best, 1e-9);
    }
    EXPECT_EQ(solution->choice[view.graph.node_class[forced]], forced);
    solved += 1;
  }
  EXPECT_GT(solved, 400);
}

TEST(Constraints, RefuseTwoForcedNodesOfOneClass) {
  base::Random random(62);
  RandomView view = random_view(random, 5);
  while (view.graph.class_begin[1] < 2) view = random_view(random, 5);
  const std::vector<NodeIndex> both = {0, 1};
  EXPECT_FALSE(constrained({view.graph, view.costs}, {}, both).ok());
}

}  // namespace
}  // namespace egret::extract
