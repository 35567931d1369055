// SPDX-License-Identifier: Apache-2.0
// The independent checker of solutions, and the costs of a choice.
#include <cmath>

#include "extract/core/choice_walk.h"
#include "extract/core/extractor.h"

namespace egret::extract {
namespace {

std::string class_name(const Problem& problem, ClassIndex c) {
  return "class " +
         std::to_string(problem.graph.class_id.empty() ? c : problem.graph.class_id[c].index());
}

bool close(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max({1e-12, std::abs(a), std::abs(b)});
}

}  // namespace

// Checks a solution without any of the extractor's code or data: complete, acyclic, allowed nodes,
// the cost, and the claims about the bound. O(nodes of the solution).
base::Status check_solution(const Problem& problem, const Solution& solution) {
  const EGraphView& graph = problem.graph;
  if (solution.choice.size() != graph.class_count())
    return base::internal_error("extraction: one choice a class is needed");
  const ChoiceWalk walk = walk_choice(problem, solution.choice);
  switch (walk.outcome) {
    case ChoiceWalk::Outcome::kComplete: break;
    case ChoiceWalk::Outcome::kMissing:
      return base::internal_error("extraction: " + class_name(problem, walk.culprit) +
                                  " is needed but has no choice");
    case ChoiceWalk::Outcome::kCyclic:
      return base::internal_error("extraction: " + class_name(problem, walk.culprit) +
                                  " is part of its own definition");
  }
  for (const ClassIndex c : walk.order) {
    const NodeIndex node = solution.choice[c];
    if (node >= graph.node_count() || graph.node_class[node] != c) {
      return base::internal_error("extraction: the node chosen for " + class_name(problem, c) +
                                  " is not one of its own");
    }
    if (!std::isfinite(problem.costs[node])) {
      return base::internal_error("extraction: the node chosen for " + class_name(problem, c) +
                                  " is forbidden");
    }
  }
  if (!close(walk.dag_cost, solution.dag_cost)) {
    return base::internal_error("extraction: claims cost " + std::to_string(solution.dag_cost) +
                                ", has " + std::to_string(walk.dag_cost));
  }
  if (solution.bound > solution.dag_cost && !close(solution.bound, solution.dag_cost)) {
    return base::internal_error("extraction: the bound is above the cost");
  }
  if (solution.quality == Quality::kOptimal && !close(solution.bound, solution.dag_cost)) {
    return base::internal_error("extraction: called optimal with a gap");
  }
  return base::ok();
}

Solution solution_of(const Problem& problem, std::vector<NodeIndex> choice) {
  const ChoiceWalk walk = walk_choice(problem, choice);
  EGRET_CHECK(walk.outcome == ChoiceWalk::Outcome::kComplete, "a solution is complete and acyclic");
  Solution solution;
  solution.choice.assign(problem.graph.class_count(), kNoNode);
  std::vector<double> tree(problem.graph.class_count(), 0);
  for (const ClassIndex c : walk.order) {
    const NodeIndex node = choice[c];
    solution.choice[c] = node;
    tree[c] = problem.costs[node];
    for (const ClassIndex child : problem.graph.children_of(node)) tree[c] += tree[child];
  }
  for (const ClassIndex root : problem.graph.roots) solution.tree_cost += tree[root];
  solution.dag_cost = walk.dag_cost;
  // The only proof here is the signs of the costs: at best, every class with a negative node is
  // chosen.
  for (ClassIndex c = 0; c < problem.graph.class_count(); ++c) {
    double least = 0;
    for (NodeIndex node = problem.graph.class_begin[c]; node < problem.graph.class_begin[c + 1];
         ++node) {
      least = std::min(least, problem.costs[node]);
    }
    solution.bound += least;
  }
  return solution;
}

}  // namespace egret::extract
