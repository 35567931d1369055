// SPDX-License-Identifier: Apache-2.0
// For tests: picks the node of each class whose term is cheapest, counting terms as trees, with a
// weight for each operator; constant-only values are free. Enough to see what rules can reach.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "rules/tensors/tensor_egraph.h"

namespace egret::rules {

using NodeWeight = std::function<double(egraph::NodeId)>;

inline Selection cheapest(const TensorEGraph& tensors, const NodeWeight& weight) {
  const egraph::EGraph& egraph = tensors.egraph();
  std::vector<double> cost(egraph.id_count(), std::numeric_limits<double>::infinity());
  Selection selection;
  selection.node_of.resize(egraph.id_count());
  for (bool changed = true; changed;) {
    changed = false;
    for (const egraph::ClassId id : egraph.classes()) {
      for (const egraph::NodeId node : egraph.nodes(id)) {
        double total = weight(node);
        for (const egraph::ClassId child : egraph.children(node)) total += cost[child.index()];
        if (!(total < cost[id.index()])) continue;
        cost[id.index()] = total;
        selection.node_of[id.index()] = node;
        changed = true;
      }
    }
  }
  return selection;
}

// Every operator that runs counts 1; slices, as views, next to nothing.
inline Selection fewest_operators(const TensorEGraph& tensors) {
  return cheapest(tensors, [&](egraph::NodeId node) {
    const egraph::OpId op = tensors.egraph().op(node);
    if (tensors.language().kind(op) != ir::NodeKind::kOperator) return 1e-6;
    if (tensors.is_constant(tensors.egraph().class_of(node))) return 1e-3;
    return tensors.language().op(op).name() == "slice" ? 1e-2 : 1.0;
  });
}

}  // namespace egret::rules
