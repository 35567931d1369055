// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/random.h"
#include "egraph/core/view.h"

namespace egret::extract {

// What random e-graphs are like.
struct ViewShape {
  std::int64_t nodes = 3;  // in a class at most
  std::int64_t arity = 2;  // at most
  double backwards = 0.2;  // children that may close a cycle
  std::int64_t least_cost = 0;
  std::int64_t most_cost = 9;
};

// A small random e-graph, cycles and shared classes included.
struct RandomView {
  egraph::EGraphView graph;
  std::vector<double> costs;
};

inline RandomView random_view(base::Random& random, int classes, const ViewShape& shape = {}) {
  RandomView result;
  egraph::EGraphView& graph = result.graph;
  for (int c = 0; c < classes; ++c) {
    const auto nodes = random.between(1, shape.nodes);
    for (std::int64_t i = 0; i < nodes; ++i) {
      // Mostly children of higher number, so that most classes have a term; some the other way.
      const auto arity = c + 1 == classes ? 0 : random.between(0, shape.arity);
      for (std::int64_t k = 0; k < arity; ++k) {
        const bool up = !random.chance(shape.backwards);
        graph.children.push_back(static_cast<egraph::EGraphView::Index>(
            up ? random.between(c + 1, classes - 1) : random.between(0, classes - 1)));
      }
      graph.child_begin.push_back(static_cast<egraph::EGraphView::Index>(graph.children.size()));
      graph.node_class.push_back(static_cast<egraph::EGraphView::Index>(c));
      graph.node_op.emplace_back(0);
      result.costs.push_back(
          static_cast<double>(random.between(shape.least_cost, shape.most_cost)));
    }
    graph.class_begin.push_back(static_cast<egraph::EGraphView::Index>(graph.node_op.size()));
    graph.class_id.emplace_back(static_cast<std::size_t>(c));
  }
  graph.roots = {0};
  if (random.chance(0.3)) graph.roots.push_back(1);
  return result;
}

}  // namespace egret::extract
