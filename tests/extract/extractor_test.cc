// SPDX-License-Identifier: Apache-2.0
#include "extract/core/extractor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "extract/milp/milp.h"
#include "tests/extract/all_choices.h"
#include "tests/extract/needs_solver.h"
#include "tests/extract/random_view.h"

namespace egret::extract {
namespace {

// Every extractor's answer is valid, its claims true of the least cost, which is returned
// (infinite: there is no answer, and each says so); counts by extractor how often it is the least.
double compare_all(const Problem& problem, std::map<std::string_view, int>& least) {
  const double best = least_dag_cost(problem);
  for (const ExtractorRow& row : extractors()) {
    const auto solution = row.extract(problem, {});
    if (solution.status().code() == base::StatusCode::kUsage) continue;  // a build without solver
    EXPECT_EQ(solution.ok(), std::isfinite(best)) << row.name;
    if (!solution.ok() || !std::isfinite(best)) continue;
    const base::Status checked = check_solution(problem, *solution);
    EXPECT_TRUE(checked.ok()) << row.name << ": " << checked.message();
    EXPECT_GE(solution->dag_cost, best - 1e-9) << row.name;
    EXPECT_LE(solution->bound, best + 1e-9) << row.name;
    const bool is_least = solution->dag_cost <= best + 1e-9;
    EXPECT_TRUE(is_least || solution->quality != Quality::kOptimal) << row.name;
    least[row.name] += is_least ? 1 : 0;
  }
  return best;
}

TEST(Extractors, AnswersAreValidAndNeverBelowTheBestOnRandomGraphs) {
  base::Random random(7);
  std::map<std::string_view, int> optimal;
  int solvable = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const RandomView view = random_view(random, 6);
    SCOPED_TRACE("trial " + std::to_string(trial));
    solvable += std::isfinite(compare_all({view.graph, view.costs}, optimal)) ? 1 : 0;
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  ASSERT_GT(solvable, 1000);
  EXPECT_GE(optimal["dag-greedy"], optimal["tree-greedy"]);
  EXPECT_GE(optimal["local-search"], optimal["dag-greedy"]);
  EXPECT_GE(optimal["local-search"], solvable * 99 / 100);
}

// y = x + f(x) again and again: each level doubles what the tree costs, which no double holds in
// the end. That is no reason to have no answer; only what is forbidden is.
TEST(Extractors, AnswerGraphsWhoseTreesCostMoreThanADouble) {
  constexpr EGraphView::Index kLevels = 1200;
  EGraphView graph;
  const auto add = [&](EGraphView::Index of, std::initializer_list<EGraphView::Index> children) {
    graph.children.insert(graph.children.end(), children);
    graph.child_begin.push_back(static_cast<EGraphView::Index>(graph.children.size()));
    graph.node_class.push_back(of);
    graph.node_op.emplace_back(0);
    graph.class_begin.push_back(static_cast<EGraphView::Index>(graph.node_op.size()));
    graph.class_id.emplace_back(static_cast<std::size_t>(of));
  };
  add(0, {});
  for (EGraphView::Index level = 0; level < kLevels; ++level) {
    const EGraphView::Index x = 2 * level;
    add(x + 1, {x});
    add(x + 2, {x, x + 1});
  }
  graph.roots = {2 * kLevels};
  std::vector<double> costs(graph.node_count(), 1);
  for (const ExtractorRow& row : extractors()) {
    const auto solution = row.extract({graph, costs}, {});
    if (solution.status().code() == base::StatusCode::kUsage) continue;  // a build without solver
    ASSERT_TRUE(solution.ok()) << row.name << ": " << solution.status().message();
    EXPECT_EQ(solution->dag_cost, 2 * kLevels + 1) << row.name;
  }
  costs[1] = std::numeric_limits<double>::infinity();
  for (const ExtractorRow& row : extractors())
    EXPECT_FALSE(row.extract({graph, costs}, {}).ok()) << row.name;
}

// Those that prove nothing there still answer.
TEST(Extractors, AnswersAreValidWithNegativeCosts) {
  base::Random random(8);
  std::map<std::string_view, int> optimal;
  int solvable = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const RandomView view =
        random_view(random, 6, {.backwards = 0.4, .least_cost = -5, .most_cost = 5});
    SCOPED_TRACE("trial " + std::to_string(trial));
    solvable += std::isfinite(compare_all({view.graph, view.costs}, optimal)) ? 1 : 0;
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  ASSERT_GT(solvable, 500);
  EXPECT_GE(optimal["local-search"], solvable * 9 / 10);
}

// The exact extractors against all choices, each on 10,000 e-graphs and, where it can, on 2,000
// more with negative costs.
class ExactExtractor : public ::testing::TestWithParam<std::string_view> {
 protected:
  void compare_with_all_choices(const ViewShape& shape, int classes, std::uint64_t seed,
                                int trials) {
    const auto found = std::ranges::find(milp_solvers(), solver(), &MilpSolverRow::name);
    if (!solver().empty() && found == milp_solvers().end())
      GTEST_SKIP() << "this build has no " << solver();
    base::Random random(seed);
    for (int trial = 0; trial < trials; ++trial) {
      SCOPED_TRACE("trial " + std::to_string(trial));
      const RandomView view = random_view(random, classes, shape);
      const Problem problem{view.graph, view.costs};
      const double best = least_dag_cost(problem);
      const auto solution = find_extractor(GetParam())->extract(problem, {});
      ASSERT_EQ(solution.ok(), std::isfinite(best));
      if (!solution.ok()) continue;
      const base::Status checked = check_solution(problem, *solution);
      ASSERT_TRUE(checked.ok()) << checked.message();
      ASSERT_EQ(solution->quality, Quality::kOptimal);
      ASSERT_NEAR(solution->dag_cost, best, 1e-9);
    }
  }

 private:
  // What the extractor cannot do without.
  static std::string_view solver() {
    if (GetParam() == "ilp") return "highs";
    return GetParam() == "ilp-cbc" ? "cbc" : "";
  }
};

TEST_P(ExactExtractor, FindsTheLeastOfAllChoices) { compare_with_all_choices({}, 8, 11, 5000); }

TEST_P(ExactExtractor, FindsTheLeastWhereCyclesAreMany) {
  compare_with_all_choices({.nodes = 4, .arity = 3, .backwards = 0.6}, 7, 12, 3000);
}

TEST_P(ExactExtractor, FindsTheLeastWhereManyCostsAreZeroOrEqual) {
  compare_with_all_choices({.nodes = 4, .backwards = 0.5, .most_cost = 1}, 7, 13, 2000);
}

TEST_P(ExactExtractor, FindsTheLeastWithNegativeCosts) {
  if (GetParam() == "treewidth" || GetParam() == "maxsat")
    GTEST_SKIP() << "proven by integer programs only";
  SKIP_WITHOUT_MILP_SOLVER();
  compare_with_all_choices({.backwards = 0.4, .least_cost = -5, .most_cost = 5}, 8, 14, 2000);
}

// Too large for all choices: what one of them proves the other must not better.
TEST(Extractors, TheSolversProveTheSame) {
  if (milp_solvers().size() < 2) GTEST_SKIP() << "this build has one solver only";
  base::Random random(15);
  Options options;
  options.time_limit_s = 20;
  int compared = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const RandomView view = random_view(
        random, 60, {.nodes = 5, .arity = 3, .backwards = 0.15, .least_cost = 1, .most_cost = 40});
    const Problem problem{view.graph, view.costs};
    const auto one = find_extractor("ilp")->extract(problem, options);
    const auto other = find_extractor("ilp-cbc")->extract(problem, options);
    ASSERT_EQ(one.ok(), other.ok());
    if (!one.ok()) continue;
    ASSERT_TRUE(check_solution(problem, *one).ok());
    ASSERT_LE(one->bound, other->dag_cost + 1e-9);
    ASSERT_LE(other->bound, one->dag_cost + 1e-9);
    compared += one->quality == Quality::kOptimal && other->quality == Quality::kOptimal;
  }
  EXPECT_GT(compared, 20);
}

INSTANTIATE_TEST_SUITE_P(All, ExactExtractor,
                         ::testing::Values("auto", "treewidth", "maxsat", "ilp", "ilp-cbc"));

// Two convolutions p, q of cost 10 that share an input; or one merged of cost 12 and two slices of
// cost 1. Neither p nor q gains alone.
TEST(Extractors, LocalSearchMergesWhereNoSingleChangePays) {
  EGraphView graph;
  std::vector<double> costs;
  const auto node = [&](ClassIndex c, std::vector<ClassIndex> children, double cost) {
    graph.children.insert(graph.children.end(), children.begin(), children.end());
    graph.child_begin.push_back(static_cast<ClassIndex>(graph.children.size()));
    graph.node_class.push_back(c);
    graph.node_op.emplace_back(0);
    costs.push_back(cost);
    if (graph.class_begin.size() == c + 1) graph.class_begin.push_back(0);
    graph.class_begin[c + 1] = static_cast<ClassIndex>(graph.node_op.size());
  };
  constexpr ClassIndex kX = 0;
  constexpr ClassIndex kP = 1;
  constexpr ClassIndex kQ = 2;
  constexpr ClassIndex kMerged = 3;
  node(kX, {}, 0);
  node(kP, {kX}, 10);
  node(kP, {kMerged}, 1);
  node(kQ, {kX}, 10);
  node(kQ, {kMerged}, 1);
  node(kMerged, {kX}, 12);
  graph.roots = {kP, kQ};
  const Problem problem{graph, costs};
  EXPECT_EQ(find_extractor("dag-greedy")->extract(problem, {})->dag_cost, 20);
  EXPECT_EQ(find_extractor("local-search")->extract(problem, {})->dag_cost, 14);
}

TEST(Checker, RefusesWrongClaims) {
  base::Random random(3);
  RandomView view = random_view(random, 5);
  while (!find_extractor("tree-greedy")->extract({view.graph, view.costs}, {}).ok())
    view = random_view(random, 5);
  const Problem problem{view.graph, view.costs};
  const Solution good = *find_extractor("tree-greedy")->extract(problem, {});
  ASSERT_TRUE(check_solution(problem, good).ok());

  Solution wrong = good;
  wrong.dag_cost += 1;
  EXPECT_FALSE(check_solution(problem, wrong).ok());
  wrong = good;
  wrong.choice[problem.graph.roots[0]] = kNoNode;
  EXPECT_FALSE(check_solution(problem, wrong).ok());
  wrong = good;
  wrong.choice[problem.graph.roots[0]] = view.graph.class_begin[1];
  EXPECT_FALSE(check_solution(problem, wrong).ok());
  wrong = good;
  wrong.quality = Quality::kOptimal;
  wrong.bound = good.dag_cost - 1;
  EXPECT_FALSE(check_solution(problem, wrong).ok());
}

}  // namespace
}  // namespace egret::extract
