// SPDX-License-Identifier: Apache-2.0
#include "extract/core/cheapest_terms.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "extract/core/parents.h"

namespace egret::extract {
namespace {

// Tree costs double with each level of y = x + f(x). Larger costs are clamped to this value,
// because an infinite cost means that there is no term.
constexpr double kMostCost = 1e300;

struct Candidate {
  double cost;
  NodeIndex node;
  // Ties go to the older node, so the result does not depend on the queue.
  bool operator<(const Candidate& other) const {
    return cost != other.cost ? cost > other.cost : node > other.node;
  }
};

}  // namespace

// Knuth's generalization of Dijkstra's algorithm (1977). With costs that are not negative, a node
// costs at least as much as each of its children. The first node taken from the queue for a class
// is thus its cheapest, and the choice is acyclic. O((nodes + children) * log(nodes)).
TreeChoice cheapest_terms(const Problem& problem) {
  const EGraphView& graph = problem.graph;
  const Parents parents(graph);
  TreeChoice result;
  result.choice.assign(graph.class_count(), kNoNode);
  result.cost.assign(graph.class_count(), std::numeric_limits<double>::infinity());

  std::vector<std::uint32_t> unsettled(graph.node_count());  // children without a term yet
  std::vector<double> sum(problem.costs.begin(), problem.costs.end());
  const auto is_allowed = [&](NodeIndex node) { return std::isfinite(problem.costs[node]); };
  std::priority_queue<Candidate> queue;
  for (NodeIndex node = 0; node < graph.node_count(); ++node) {
    unsettled[node] = static_cast<std::uint32_t>(graph.children_of(node).size());
    if (unsettled[node] == 0 && is_allowed(node)) queue.push({sum[node], node});
  }
  while (!queue.empty()) {
    const auto [cost, node] = queue.top();
    queue.pop();
    const ClassIndex c = graph.node_class[node];
    if (result.choice[c] != kNoNode) continue;
    result.choice[c] = node;
    result.cost[c] = cost;
    for (const NodeIndex parent : parents.of(c)) {  // once an occurrence of the child
      sum[parent] = std::min(sum[parent] + cost, kMostCost);
      if (--unsettled[parent] == 0 && is_allowed(parent)) queue.push({sum[parent], parent});
    }
  }
  return result;
}

base::Status check_roots(const Problem& problem, std::span<const NodeIndex> choice) {
  for (const ClassIndex root : problem.graph.roots) {
    if (choice[root] == kNoNode) {
      return base::bad_input("root class " + std::to_string(root) + " has no term of finite cost");
    }
  }
  return base::ok();
}

}  // namespace egret::extract
