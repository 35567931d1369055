// SPDX-License-Identifier: Apache-2.0
#include "extract/milp/core_ilp.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "tests/extract/needs_solver.h"

namespace egret::extract {
namespace {

// Elements, each in some sets, and what sets cost; all elements are to be covered. Relaxations of
// such programs leave a gap, so that it takes more than one look at the core.
struct Cover {
  std::vector<std::vector<ClassIndex>> sets_of;  // per element
  std::vector<double> costs;                     // per set
};

Cover random_cover(base::Random& random, int elements, int sets) {
  constexpr int kSetsOfAnElement = 3;
  Cover cover;
  for (int s = 0; s < sets; ++s) cover.costs.push_back(static_cast<double>(random.between(20, 40)));
  for (int e = 0; e < elements; ++e) {
    std::vector<ClassIndex> of;
    while (of.size() < kSetsOfAnElement) {
      const auto s = static_cast<ClassIndex>(random.between(0, sets - 1));
      if (std::ranges::find(of, s) == of.end()) of.push_back(s);
    }
    cover.sets_of.push_back(std::move(of));
  }
  return cover;
}

// By the solver alone: a column for each set, a row for each element.
double least_cost(const Cover& cover) {
  Milp program;
  for (const double cost : cover.costs) program.columns.push_back({cost});
  for (const auto& of : cover.sets_of) {
    Milp::Row row;
    row.lower = 1;
    for (const ClassIndex s : of) row.add(static_cast<int>(s), 1);
    program.rows.push_back(std::move(row));
  }
  const auto solver = milp_solvers().front().make();
  EXPECT_TRUE(solver->load(program).ok());
  const auto answer = solver->solve(60);
  EXPECT_TRUE(answer.ok() && answer->proven);
  return answer->bound;
}

// Class 0 needs each element, an element one of its sets.
struct CoverProblem {
  EGraphView graph;
  std::vector<double> costs;

  explicit CoverProblem(const Cover& cover) {
    const auto elements = static_cast<ClassIndex>(cover.sets_of.size());
    std::vector<ClassIndex> all;
    for (ClassIndex e = 0; e < elements; ++e) all.push_back(1 + e);
    add(0, 0, all);
    close();
    for (ClassIndex e = 0; e < elements; ++e) {
      for (const ClassIndex s : cover.sets_of[e]) add(1 + e, 0, {1 + elements + s});
      close();
    }
    for (ClassIndex s = 0; s < cover.costs.size(); ++s) {
      add(1 + elements + s, cover.costs[s], {});
      close();
    }
    graph.roots = {0};
  }
  Problem problem() const { return {graph, costs}; }

 private:
  void add(ClassIndex c, double cost, const std::vector<ClassIndex>& children) {
    graph.children.insert(graph.children.end(), children.begin(), children.end());
    graph.child_begin.push_back(static_cast<ClassIndex>(graph.children.size()));
    graph.node_class.push_back(c);
    graph.node_op.emplace_back(0);
    costs.push_back(cost);
  }
  void close() { graph.class_begin.push_back(static_cast<ClassIndex>(graph.node_op.size())); }
};

TEST(ExtractByIlp, ProvesTheLeastWhereCandidatesTurnOutUselessOnTheWay) {
  SKIP_WITHOUT_MILP_SOLVER();
  base::Random random(61);
  for (int trial = 0; trial < 20; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const Cover cover = random_cover(random, 30, 40);
    const CoverProblem instance(cover);
    const auto found = find_extractor("ilp")->extract(instance.problem(), {});
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(check_solution(instance.problem(), *found).ok());
    EXPECT_EQ(found->quality, Quality::kOptimal);
    EXPECT_NEAR(found->dag_cost, least_cost(cover), 1e-6);
  }
}

}  // namespace
}  // namespace egret::extract
