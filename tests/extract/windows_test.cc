// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "tests/extract/all_choices.h"
#include "tests/extract/needs_solver.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

// One node is only chosen beside another. The start is the dearest choice that keeps to that.
TEST(Windows, OfWholeSmallProblemsAreTheLeastThatKeepToTheRows) {
  SKIP_WITHOUT_MILP_SOLVER();
  base::Random random(81);
  int solved = 0;
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view = random_view(random, 7, {.backwards = 0.3});
    const Problem problem{view.graph, view.costs};
    const auto nodes = static_cast<std::int64_t>(view.graph.node_count());
    const ClassIndex root = view.graph.roots.front();
    std::vector<SideRow> rows(1);
    rows[0].add(static_cast<NodeIndex>(random.between(0, nodes - 1)), 1);
    rows[0].add(static_cast<NodeIndex>(random.between(view.graph.class_begin[root],
                                                      view.graph.class_begin[root + 1] - 1)),
                -1);
    std::optional<Solution> dearest;
    for_all_choices(problem, [&](const ChoiceWalk&, const std::vector<NodeIndex>& choice) {
      Solution one = solution_of(problem, choice);
      if (!keeps_to(rows, one, view.graph)) return;
      if (!dearest || one.dag_cost > dearest->dag_cost) dearest = std::move(one);
    });
    if (!dearest) continue;
    const Solution found = improve_in_windows(problem, rows, {}, *dearest);
    ASSERT_TRUE(check_solution(problem, found).ok()) << check_solution(problem, found).message();
    EXPECT_TRUE(keeps_to(rows, found, view.graph));
    EXPECT_NEAR(found.dag_cost, least_within(problem, rows), 1e-6);
    EXPECT_EQ(found.quality, Quality::kOptimal);
    solved += 1;
  }
  EXPECT_GT(solved, 150);
}

// A deep program whose values are wanted in one of two forms. A form is computed from the same form
// of the value below, or converted from the other form, which pays over several values only. The
// last value may be in the second form only if the first one is converted: that row couples the two
// ends of the chain.
TEST(Windows, FindTheLeastOfADeepProgram) {
  SKIP_WITHOUT_MILP_SOLVER();
  constexpr ClassIndex kDepth = 200;
  constexpr double kConversion = 6;
  base::Random random(82);
  EGraphView graph;
  std::vector<double> costs;
  const auto add = [&](ClassIndex c, std::vector<ClassIndex> children, double cost) {
    graph.children.insert(graph.children.end(), children.begin(), children.end());
    graph.child_begin.push_back(static_cast<ClassIndex>(graph.children.size()));
    graph.node_class.push_back(c);
    graph.node_op.emplace_back(0);
    costs.push_back(cost);
  };
  std::vector<std::array<double, 2>> own;
  for (ClassIndex i = 0; i < kDepth; ++i) {
    own.push_back({});
    for (const ClassIndex form : {0U, 1U}) {
      const ClassIndex c = 2 * i + form;
      own.back()[form] = static_cast<double>(random.between(1, 9));
      std::vector<ClassIndex> below;
      if (i + 1 < kDepth) below.push_back(c + 2);
      add(c, below, own.back()[form]);
      add(c, {c ^ 1U}, kConversion);
      graph.class_begin.push_back(static_cast<ClassIndex>(graph.node_op.size()));
      graph.class_id.emplace_back(static_cast<std::size_t>(c));
    }
  }
  graph.roots = {0};
  const Problem problem{graph, costs};
  std::vector<SideRow> rows(1);
  rows[0].add(graph.class_begin[2 * kDepth - 1], 1);
  rows[0].add(graph.class_begin[0] + 1, -1);
  std::vector<NodeIndex> first;  // all in the first form
  for (ClassIndex c = 0; c < graph.class_count(); ++c) first.push_back(graph.class_begin[c]);
  const Solution start = solution_of(problem, first);
  const Solution found = improve_in_windows(problem, rows, {}, start);
  ASSERT_TRUE(check_solution(problem, found).ok()) << check_solution(problem, found).message();
  // The least of both ways: from below, by the form at hand, for each form of the last value.
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t last : {0U, 1U}) {
    const auto forbidden = std::numeric_limits<double>::infinity();
    std::array<double, 2> best{forbidden, forbidden};
    best[last] = own[kDepth - 1][last];
    best[1 - last] = best[last] + kConversion;
    for (std::size_t i = kDepth - 1; i-- > 0;) {
      const std::array<double, 2> by_own{best[0] + own[i][0], best[1] + own[i][1]};
      const bool must_convert = i == 0 && last == 1;
      best[0] = std::min(must_convert ? forbidden : by_own[0], by_own[1] + kConversion);
      best[1] = std::min(by_own[1], by_own[0] + kConversion);
    }
    least = std::min(least, best[0]);
  }
  EXPECT_LT(least, start.dag_cost);
  EXPECT_NEAR(found.dag_cost, least, 1e-6);
}

}  // namespace
}  // namespace egret::extract
