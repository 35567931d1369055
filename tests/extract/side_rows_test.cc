// SPDX-License-Identifier: Apache-2.0
#include "extract/extractors/side_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/extract/all_choices.h"
#include "tests/extract/needs_solver.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

// A limit on the sum of random weights, and two nodes of which one is only chosen beside the other.
std::vector<SideRow> random_rows(const EGraphView& graph, base::Random& random) {
  const auto nodes = static_cast<std::int64_t>(graph.node_count());
  std::vector<SideRow> rows(2);
  rows[0].most = static_cast<double>(random.between(2, 6));
  for (NodeIndex node = 0; node < graph.node_count(); ++node) {
    if (random.chance(0.5)) rows[0].add(node, static_cast<double>(random.between(1, 3)));
  }
  rows[1].add(static_cast<NodeIndex>(random.between(0, nodes - 1)), 1);
  rows[1].add(
      static_cast<NodeIndex>(random.between(graph.class_begin[graph.roots.front()],
                                            graph.class_begin[graph.roots.front() + 1] - 1)),
      -1);
  return rows;
}

TEST(SideRows, AnswersAreTheLeastThatKeepToThem) {
  SKIP_WITHOUT_MILP_SOLVER();
  base::Random random(71);
  int solved = 0;
  int bound = 0;  // problems in which the rows matter
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const RandomView view = random_view(random, 7, {.backwards = 0.3});
    const Problem problem{view.graph, view.costs};
    const std::vector<SideRow> rows = random_rows(view.graph, random);
    const double best = least_within(problem, rows);
    const auto free = find_extractor("auto")->extract(problem, {});
    const auto found = extract_within(problem, rows, {});
    ASSERT_EQ(found.ok(), std::isfinite(best));
    if (!found.ok()) {
      EXPECT_EQ(found.status().code(), free.ok() ? base::StatusCode::kLimit : free.status().code());
      continue;
    }
    ASSERT_TRUE(check_solution(problem, *found).ok());
    EXPECT_NEAR(found->dag_cost, best, 1e-6);
    EXPECT_EQ(found->quality, Quality::kOptimal);
    // Short rows alone go into tables, where a core is narrow.
    const std::vector<SideRow> short_rows(rows.begin() + 1, rows.end());
    const double least = least_within(problem, short_rows);
    const auto by_tables = extract_within(problem, short_rows, {});
    ASSERT_TRUE(by_tables.ok()) << by_tables.status().message();
    EXPECT_NEAR(by_tables->dag_cost, least, 1e-6);
    EXPECT_NEAR(by_tables->bound, least, 1e-6);
    // From an answer that is known, the same.
    const auto again = extract_within(problem, rows, {}, &*found);
    ASSERT_TRUE(again.ok());
    EXPECT_NEAR(again->dag_cost, best, 1e-6);
    EXPECT_EQ(again->quality, Quality::kOptimal);
    EXPECT_NEAR(again->bound, best, 1e-6);
    solved += 1;
    if (best > free->dag_cost + 1e-6) bound += 1;
  }
  EXPECT_GT(solved, 150);
  EXPECT_GT(bound, 20);
}

}  // namespace
}  // namespace egret::extract
