// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "extract/core/choice_walk.h"
#include "extract/extractors/side_rows.h"

namespace egret::extract {

// Calls `visit` for each complete acyclic choice of one node a class.
inline void for_all_choices(
    const Problem& problem,
    const std::function<void(const ChoiceWalk&, const std::vector<NodeIndex>&)>& visit) {
  const EGraphView& graph = problem.graph;
  std::vector<NodeIndex> choice;
  for (ClassIndex c = 0; c < graph.class_count(); ++c) choice.push_back(graph.class_begin[c]);
  while (true) {
    const ChoiceWalk walk = walk_choice(problem, choice);
    if (walk.outcome == ChoiceWalk::Outcome::kComplete) visit(walk, choice);
    ClassIndex c = 0;
    while (c < graph.class_count() && ++choice[c] == graph.class_begin[c + 1]) {
      choice[c] = graph.class_begin[c];
      ++c;
    }
    if (c == graph.class_count()) return;
  }
}

// Infinite when there is none.
inline double least_dag_cost(const Problem& problem) {
  double best = std::numeric_limits<double>::infinity();
  for_all_choices(problem, [&](const ChoiceWalk& walk, const std::vector<NodeIndex>&) {
    best = std::min(best, walk.dag_cost);
  });
  return best;
}

// Among the choices that keep to the rows; infinite when there is none.
inline double least_within(const Problem& problem, std::span<const SideRow> rows) {
  double best = std::numeric_limits<double>::infinity();
  for_all_choices(problem, [&](const ChoiceWalk& walk, const std::vector<NodeIndex>& choice) {
    Solution solution;
    solution.choice.assign(problem.graph.class_count(), kNoNode);
    for (const ClassIndex c : walk.order) solution.choice[c] = choice[c];
    if (keeps_to(rows, solution, problem.graph)) best = std::min(best, walk.dag_cost);
  });
  return best;
}

}  // namespace egret::extract
